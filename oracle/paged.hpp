// Paged attention as attention over the gathered sequence.
#pragma once

#include <cstddef>
#include <vector>

#include "oracle/reference.hpp"

namespace nbx::oracle {

/// q [B, H, 1, D]; k_pool [pages, Hk, page_tokens, D], v_pool likewise with Dv; table [B, max_pages] in row-major
/// order: position p of sequence b lies in page table[b][p / page_tokens] at p % page_tokens. Entries behind a
/// sequence's length mean nothing.
struct PagedInput {
  View q, k_pool, v_pool;
  std::vector<std::int64_t> table, lengths;
  std::int64_t max_pages = 0;
  std::optional<float> scale;
};

/// The keys and values of each sequence in their order: k [B, Hk, n, D] and v [B, Hk, n, Dv], n the longest length (at
/// least 1), zero behind a shorter one's end.
struct GatheredCache {
  std::vector<std::byte> k, v;
  std::vector<std::int64_t> k_shape, v_shape;
};
GatheredCache gather(const PagedInput& input);

/// The same problem over `cache`, which must outlive it.
AttentionInput over(const PagedInput& input, const GatheredCache& cache);

}  // namespace nbx::oracle
