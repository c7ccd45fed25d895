#include "oracle/paged.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace nbx::oracle {
namespace {

struct Gathered {
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> shape;
};

Gathered gather_pool(const PagedInput& input, const View& pool, std::int64_t longest) {
  const auto B = static_cast<std::int64_t>(input.lengths.size());
  const std::int64_t pages = pool.shape[0], heads = pool.shape[1], tokens = pool.shape[2], columns = pool.shape[3];
  const std::int64_t row = columns * traits(pool.format).bytes;
  Gathered out{.bytes = std::vector<std::byte>(static_cast<std::size_t>(B * heads * longest * row)),
               .shape = {B, heads, longest, columns}};
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t position = 0; position < input.lengths[b]; ++position) {
      const std::int64_t number = position / tokens;
      if (number >= input.max_pages) throw std::invalid_argument("paged input: a length over its table");
      const std::int64_t page = input.table[b * input.max_pages + number];
      if (page < 0 || page >= pages) throw std::invalid_argument("paged input: a page that is not in the pool");
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t from = (page * heads + h) * tokens + position % tokens;
        const std::int64_t to = (b * heads + h) * longest + position;
        std::memcpy(out.bytes.data() + to * row, pool.bytes.data() + from * row, static_cast<std::size_t>(row));
      }
    }
  }
  return out;
}

}  // namespace

GatheredCache gather(const PagedInput& input) {
  std::int64_t longest = 1;
  for (const std::int64_t length : input.lengths) longest = std::max(longest, length);
  Gathered k = gather_pool(input, input.k_pool, longest), v = gather_pool(input, input.v_pool, longest);
  return {
      .k = std::move(k.bytes), .v = std::move(v.bytes), .k_shape = std::move(k.shape), .v_shape = std::move(v.shape)};
}

AttentionInput over(const PagedInput& input, const GatheredCache& cache) {
  return {.q = input.q,
          .k = {.bytes = cache.k, .format = input.k_pool.format, .shape = cache.k_shape},
          .v = {.bytes = cache.v, .format = input.v_pool.format, .shape = cache.v_shape},
          .bias = {},
          .causal = Causal::none,
          .scale = input.scale,
          .lengths = input.lengths};
}

}  // namespace nbx::oracle
