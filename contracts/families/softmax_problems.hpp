// The problems of softmax and log-softmax. Add one: a line here.
#pragma once

#include <cstdint>

#include "contracts/runner.hpp"

namespace nbx::contracts {

enum class SoftmaxKind : std::uint8_t {
  normal,
  uniform,
  wide,         // exponents from 2^-20 to 2^6
  sink,         // one feature takes more than half
  constant,     // all features equal: 1/n
  powers,       // features 0, -ln 2 · k rounded: near powers of two
  negative,     // all near -20, so that an extra zero feature would dominate
  far,          // more than 2^10 apart
  tiny,         // ±0 and subnormals
  largest,      // ± the largest finite numbers beside small ones
  rising,       // each tile of 64 holds a new maximum
  marker,       // -inf but for a sink, the last feature, and one feature in each of the tiles that the row owns
  masked_row,   // some rows are -inf alone
  some_masked,  // -inf here and there
  late,         // -inf but for the last features: the first tiles hold nothing
  steep,        // 200 more in each range of 4096: exp over an older maximum overflows
  early,        // -inf but for the first features: the last tiles hold nothing
  nan_feature,  // one NaN in one row
  inf_feature,  // one +inf in one row
};

struct SoftmaxProblem {
  std::int64_t shape[4] = {1, 1, 1, 1};
  int rank = 2;
  int axis = -1;
  SoftmaxKind kind = SoftmaxKind::normal;
  bool equality = false;  // gates 2 and 3 run on it
  Tier tier = Tier::standard;
  std::int64_t size_class = 0;  // of the power clause; 0: not one of its problems
};

using enum SoftmaxKind;

inline constexpr SoftmaxProblem softmax_problems[] = {
    // widths at and around the tile and its cap
    {.shape = {1, 1}},
    {.shape = {5, 2}},
    {.shape = {64, 63}, .equality = true, .tier = Tier::quick},
    {.shape = {3, 64}, .size_class = 64},
    {.shape = {33, 65}, .equality = true},
    {.shape = {2, 4095}},
    {.shape = {3, 4096}, .equality = true},
    {.shape = {3, 4097}, .equality = true},
    {.shape = {2, 16384}},
    {.shape = {1, 151936}},
    // any axis of any shape
    {.shape = {7}, .rank = 1, .axis = 0},
    {.shape = {3, 5, 7}, .rank = 3, .axis = 0, .equality = true},
    {.shape = {3, 5, 7}, .rank = 3, .axis = 1},
    {.shape = {2, 3, 65, 4}, .rank = 4, .axis = 2, .equality = true},
    {.shape = {2, 3, 65, 4}, .rank = 4, .axis = -4},
    {.shape = {4, 1, 64}, .rank = 3, .axis = 1},
    {.shape = {4100, 3}, .axis = 0},
    // input kinds
    {.shape = {5, 130}, .kind = uniform, .tier = Tier::quick},
    {.shape = {5, 130}, .kind = wide, .tier = Tier::quick},
    {.shape = {5, 4097}, .kind = wide},
    {.shape = {5, 1000}, .kind = sink, .tier = Tier::quick},
    {.shape = {5, 4160}, .kind = sink},
    {.shape = {4, 256}, .kind = constant, .tier = Tier::quick},
    {.shape = {2, 8192}, .kind = constant},
    {.shape = {4, 100}, .kind = powers, .tier = Tier::quick},
    {.shape = {4, 129}, .kind = negative, .tier = Tier::quick, .size_class = 64},
    {.shape = {4, 333}, .kind = far, .tier = Tier::quick},
    {.shape = {4, 5000}, .kind = far},
    {.shape = {4, 200}, .kind = tiny, .tier = Tier::quick},
    {.shape = {4, 200}, .kind = largest, .tier = Tier::quick},
    {.shape = {4, 640}, .kind = rising, .equality = true, .tier = Tier::quick},
    {.shape = {4, 12289}, .kind = rising, .equality = true},
    {.shape = {4, 640}, .kind = marker, .tier = Tier::quick, .size_class = 64},
    {.shape = {6, 70}, .kind = masked_row, .equality = true, .tier = Tier::quick},
    {.shape = {6, 4200}, .kind = masked_row},
    {.shape = {6, 70}, .kind = some_masked, .equality = true, .tier = Tier::quick},
    {.shape = {6, 9000}, .kind = some_masked},
    {.shape = {4, 8300}, .kind = late, .equality = true},
    {.shape = {4, 8300}, .kind = early},
    {.shape = {3, 8400}, .kind = steep},
    {.shape = {6, 70}, .kind = nan_feature, .equality = true, .tier = Tier::quick},
    {.shape = {6, 8200}, .kind = nan_feature},
    {.shape = {6, 70}, .kind = inf_feature, .tier = Tier::quick},
    {.shape = {6, 8200}, .kind = inf_feature},
    // power: what can be seen at each size
    {.shape = {3, 1024}, .kind = negative, .size_class = 1024},
    {.shape = {16, 1024}, .kind = marker, .size_class = 1024},
    {.shape = {3, 1024}, .kind = rising, .size_class = 1024},
    {.shape = {3, 1000}, .kind = sink, .size_class = 1024},
    {.shape = {3, 128}, .kind = rising, .size_class = 64},
    {.shape = {3, 100}, .kind = sink, .size_class = 64},
    {.shape = {2, 8192}, .kind = negative, .size_class = 8192},
    {.shape = {16, 8192}, .kind = marker, .size_class = 8192},
    {.shape = {2, 8192}, .kind = rising, .size_class = 8192},
    {.shape = {2, 8190}, .kind = sink, .size_class = 8192},
    {.shape = {2, 65536}, .kind = negative, .size_class = 65536},
    {.shape = {16, 65536}, .kind = marker, .size_class = 65536},
    {.shape = {2, 65536}, .kind = rising, .size_class = 65536},
    {.shape = {2, 65530}, .kind = sink, .size_class = 65536},
    // with --full
    {.shape = {257, 4096}, .equality = true, .tier = Tier::full},
    {.shape = {64, 151936}, .tier = Tier::full},
};

}  // namespace nbx::contracts
