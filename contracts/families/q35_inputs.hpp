// The inputs of a problem of rows-first attention.
#pragma once

#include "contracts/dense.hpp"
#include "contracts/families/q35_problems.hpp"
#include "oracle/rows_first.hpp"

namespace nbx::contracts {

struct Q35Data {
  DLDataType cache{};
  Shape q_shape, kv_shape;
  SharedBytes q, k, v;
  std::vector<float> k_scale, v_scale;  // e4m3 caches alone
  std::vector<std::int64_t> stream, limit;
};

/// Keys of a chunk of a row that sees `limit` keys: 128 up to 8,192, then 128 · ceil(limit / 8,192). And how many
/// chunks that makes.
std::int64_t q35_chunk_width(std::int64_t limit);
std::int64_t q35_chunks(std::span<const std::int64_t> limits);

Q35Data make_q35_data(const Q35Problem& problem, DLDataType cache, std::uint64_t seed);
oracle::RowsFirstInput q35_input(const Q35Data& data);
/// The plain call, with every output of the family.
Call q35_call(const Q35Data& data);

}  // namespace nbx::contracts
