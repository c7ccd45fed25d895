#include "contracts/families/q35_problems.hpp"

#include <fmt/format.h>

namespace nbx::contracts {
namespace {

using enum Q35Rows;
using enum Q35Kind;
constexpr Tier quick = Tier::quick, full = Tier::full;

constexpr Q35Problem table[] = {
    // ordinary windows, small enough for the equalities
    {.rows = 4, .keys = 300, .H = 4, .Hk = 2, .equality = true, .tier = quick},
    {.rows_kind = streams, .rows = 8, .keys = 260, .H = 3, .Hk = 1, .equality = true, .tier = quick},
    {.rows_kind = chain, .rows = 12, .keys = 140, .H = 2, .Hk = 2, .equality = true},
    {.rows_kind = edges, .rows = 6, .keys = 400, .H = 2, .Hk = 1, .equality = true, .tier = quick},
    {.rows = 1, .keys = 700, .H = 8, .Hk = 1, .equality = true},
    {.rows = 1, .keys = 1, .H = 1, .Hk = 1},
    // the windows, streams, chains and limits of the specification
    {.rows = 16, .keys = 2100, .H = 1, .Hk = 1, .tier = full},
    {.rows = 2, .keys = 9000, .H = 1, .Hk = 1},
    {.rows = 16, .keys = 9000, .H = 1, .Hk = 1, .tier = full},
    {.rows_kind = streams, .rows = 16, .keys = 2100, .H = 1, .Hk = 1, .tier = full},
    {.rows_kind = chain, .rows = 128, .keys = 128, .H = 1, .Hk = 1},
    {.rows_kind = edges, .rows = 9, .keys = 8193, .H = 1, .Hk = 1},
    {.rows = 16, .keys = 2100, .H = 8, .Hk = 4, .equality = true, .tier = full},
    {.rows = 16, .keys = 9000, .H = 8, .Hk = 4, .equality = true, .tier = full},
    {.rows_kind = chain, .rows = 128, .keys = 300, .H = 8, .Hk = 4, .equality = true, .tier = full},
    // input kinds
    {.rows = 4, .keys = 300, .kind = cancelling, .tier = quick},
    {.rows = 4, .keys = 300, .kind = wide, .tier = quick},
    {.rows = 4, .keys = 300, .kind = anti, .tier = quick},
    {.rows = 4, .keys = 300, .kind = zero_query, .tier = quick},
    {.rows = 4, .keys = 600, .kind = rising, .tier = quick},
    // special values
    {.rows = 4, .keys = 500, .tier = quick},
    {.rows = 4, .keys = 500, .plant = Q35Plant::nan_chunk, .tier = quick},
    {.rows = 4, .keys = 500, .plant = Q35Plant::nan_value, .tier = quick},
    {.rows_kind = edges, .rows = 6, .keys = 400, .H = 2, .Hk = 1, .plant = Q35Plant::stale_keys, .tier = quick},
    // power
    {.rows = 2, .keys = 1000, .H = 4, .Hk = 2, .kind = negative, .size_class = 1024},
    {.rows = 2, .keys = 1000, .H = 4, .Hk = 2, .kind = markers, .size_class = 1024},
    {.rows = 2, .keys = 1000, .H = 4, .Hk = 2, .kind = rising, .size_class = 1024},
    {.rows = 2, .keys = 1000, .H = 4, .Hk = 2, .kind = last_dims, .size_class = 1024},
    {.rows = 1, .keys = 1000, .H = 32, .Hk = 1, .kind = clusters, .size_class = 1024},
    {.rows = 1, .keys = 65536, .H = 2, .Hk = 2, .kind = balanced, .size_class = 65536},
    {.rows = 1, .keys = 65536, .H = 2, .Hk = 2, .kind = negative, .tier = full, .size_class = 65536},
    {.rows = 1, .keys = 65536, .H = 2, .Hk = 2, .kind = markers, .tier = full, .size_class = 65536},
    {.rows = 1, .keys = 65536, .H = 2, .Hk = 2, .kind = rising, .tier = full, .size_class = 65536},
    {.rows = 1, .keys = 65536, .H = 2, .Hk = 2, .kind = last_dims, .tier = full, .size_class = 65536},
    {.rows = 1, .keys = 65536, .H = 32, .Hk = 1, .kind = clusters, .tier = full, .size_class = 65536},
};

}  // namespace

const char* q35_kind_name(Q35Kind kind) {
  constexpr const char* names[] = {"normal",     "negative", "markers", "rising",     "last_dims", "clusters",
                                   "cancelling", "wide",     "anti",    "zero_query", "balanced"};
  return names[static_cast<int>(kind)];
}

std::string q35_problem_name(const Q35Problem& p) {
  constexpr const char* rows[] = {"window", "streams", "chain", "edges"};
  constexpr const char* plants[] = {"none", "nan_chunk", "stale_keys", "nan_value"};
  std::string name = fmt::format("{}={},H={},Hk={},keys={},{}", rows[static_cast<int>(p.rows_kind)], p.rows, p.H, p.Hk,
                                 p.keys, q35_kind_name(p.kind));
  if (p.plant != Q35Plant::none) name += fmt::format(",plant={}", plants[static_cast<int>(p.plant)]);
  return name;
}

std::span<const Q35Problem> q35_problems() { return table; }

}  // namespace nbx::contracts
