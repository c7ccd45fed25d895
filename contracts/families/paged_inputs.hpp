// The inputs of a paged decode problem: a decode problem's caches cut into pages.
#pragma once

#include "contracts/families/decode_inputs.hpp"
#include "contracts/families/paged_problems.hpp"
#include "oracle/paged.hpp"

namespace nbx::contracts {

struct PagedData {
  DecodeData decode;
  Shape k_shape, v_shape;  // of the pools
  SharedBytes k, v;
  std::int64_t max_pages = 0;
  std::vector<std::int64_t> table, lengths;  // [B, max_pages]; [B]
};

PagedData make_paged_data(const PagedProblem& problem, DLDataType format, std::uint64_t seed);
oracle::PagedInput paged_input(const PagedProblem& problem, const PagedData& data);
/// The plain call.
Call paged_call(const PagedProblem& problem, const PagedData& data);

/// Pools of `pages` pages in which page p lies where to[p] says; all else holds `filler`.
SharedBytes moved_pages(const Bytes& pool, const Shape& shape, DLDataType type, std::span<const std::int64_t> to,
                        std::int64_t pages, double filler);

}  // namespace nbx::contracts
