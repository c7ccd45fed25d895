// The problems of attention. Add one: a line here.
#pragma once

#include <cstdint>

#include "contracts/runner.hpp"
#include "oracle/reference.hpp"

namespace nbx::contracts {

enum class BiasShape : std::uint8_t { none, qk, k, bqk, b1k, bhqk, b11k, h11k, qk1 };  // 1: a broadcast axis

enum class Masking : std::uint8_t {
  none,
  padding,  // -inf from a length on, another for each batch entry
  holes,    // -inf here and there
  rows,     // every third query row is -inf alone
  late,     // every second query row sees nothing of the first tile of 64 keys, and a few keys more
};

enum class AttentionKind : std::uint8_t {
  normal,
  uniform,
  wide,        // exponents far apart in q, k and v
  sink,        // one key takes more than half
  cancelling,  // pairs of keys that are equal, of values that cancel
  constant,    // q = k = v = 1: O = 1
  powers,      // powers of two, equal scores
  anti,        // all scores near -200
  equal,       // equal scores, normal values
  far,         // scores more than 2^10 apart
  tiny,        // ±0 and subnormals in q, k and v
  largest,     // values at the largest finite numbers
  overflow,    // q and k at the largest finite numbers
  negative,    // scores near -20, so that an extra zero key would dominate
  markers,     // a value row in each tile of 64 keys scaled up, in a column of its own
  zero_query,  // Q = 0: O is the mean of V
  one_hot,     // one-hot values
  ones_value,  // V = 1: O = 1
  rising,      // each tile holds a new maximum
  last_dims,   // the energy of q and k in their last dims
  clusters,    // each query sees its own keys alone; among them each value row is marked, in a column of its own
  balanced,    // scores near -20 that rise slowly, by the last component; large values of drawn signs, so that outputs
               // are near 0 and every single key shows in one row
  decades,     // each query, and each column of values, at a scale of its own over 24 decades; some of all are zeros
  mixed,       // elements 2^-28 apart within each row of q, k and v
  faint,  // one key, whose value is 0, above all others, whose values are 1: their weights are small, not their sum
};

enum class Plant : std::uint8_t {
  none,
  nan_query,
  nan_key,
  nan_value,
  inf_key,  // scores of +inf and -inf
  inf_value,
  opposite_infs,   // +inf and -inf in one value column
  hidden_nan_key,  // NaN where no row sees it, by causality
  hidden_nan_value,
  partly_hidden_nan,  // a NaN value that only the later rows see
  masked_nan_key,     // NaN under a bias of -inf
  masked_nan_value,
  nan_key_by_tile,      // KV head h has a NaN in a key of tile h
  partly_hidden_large,  // a value row near the largest numbers that only the later rows see
  masked_large,         // keys and values near the largest numbers under a bias of -inf
};

struct AttentionProblem {
  std::int64_t B = 1, H = 1, Hk = 1, Tq = 1, Tk = 1, D = 64, Dv = 0;  // Dv 0: D
  oracle::Causal causal = oracle::Causal::none;
  BiasShape bias = BiasShape::none;
  Masking mask = Masking::none;
  bool f32_bias = false;  // else in the kernel's format
  float scale = 0;        // 0: absent
  AttentionKind kind = AttentionKind::normal;
  Plant plant = Plant::none;
  bool equality = false;  // gates 2 and 3 run on it
  Tier tier = Tier::standard;
  std::int64_t size_class = 0;  // of the power clause; 0: not one of its problems
};

namespace attention_table {
using enum AttentionKind;
using enum oracle::Causal;
inline constexpr Tier quick = Tier::quick, full = Tier::full;

inline constexpr AttentionProblem problems[] = {
    // ordinary shapes
    {.H = 4, .Hk = 2, .Tq = 130, .Tk = 257, .D = 64, .equality = true, .tier = quick},
    {.B = 2, .H = 8, .Hk = 1, .Tq = 17, .Tk = 33, .D = 16, .equality = true},
    {.B = 3, .H = 6, .Hk = 2, .Tq = 9, .Tk = 65, .D = 80, .Dv = 24, .equality = true},
    {.H = 3, .Tq = 7, .Tk = 63, .D = 72, .equality = true},
    {.B = 2, .H = 2, .Hk = 2, .Tq = 33, .Tk = 64, .D = 96},
    {.Tk = 1, .D = 1},
    {.H = 2, .Tq = 3, .Tk = 5, .D = 8},
    {.Tq = 64, .Tk = 64, .D = 64, .equality = true},
    {.H = 8, .Hk = 8, .Tq = 16, .Tk = 100, .D = 127},
    {.B = 2, .H = 4, .Hk = 4, .Tk = 129, .D = 128, .equality = true},
    {.Tq = 20, .Tk = 40, .D = 15},
    {.Tq = 20, .Tk = 40, .D = 17},
    {.Tq = 20, .Tk = 70, .D = 32},
    {.Tq = 12, .Tk = 70, .D = 112},
    {.Tq = 12, .Tk = 70, .D = 129},
    {.Tq = 12, .Tk = 70, .D = 160},
    {.H = 2, .Tq = 12, .Tk = 70, .D = 192, .Dv = 128, .equality = true},
    {.Tq = 12, .Tk = 70, .D = 255},
    {.Tq = 12, .Tk = 70, .D = 256},
    {.Tq = 5, .Tk = 70, .D = 512},
    {.Tq = 16, .Tk = 48, .D = 32, .scale = 0.5f},
    {.H = 16, .Hk = 2, .Tq = 150, .Tk = 150, .D = 40, .tier = full},
    // causal, both alignments, Tq = Tk and not
    {.H = 2, .Tq = 70, .Tk = 70, .D = 64, .causal = top_left, .equality = true, .tier = quick},
    {.H = 2, .Tq = 70, .Tk = 70, .D = 64, .causal = bottom_right, .equality = true, .tier = quick},
    {.H = 2, .Tq = 33, .Tk = 17, .D = 32, .causal = top_left, .equality = true},
    {.H = 2, .Tq = 33, .Tk = 17, .D = 32, .causal = bottom_right, .equality = true},
    {.H = 2, .Tq = 17, .Tk = 130, .D = 32, .causal = top_left, .equality = true},
    {.H = 2, .Tq = 17, .Tk = 130, .D = 32, .causal = bottom_right, .equality = true},
    {.H = 2, .Tk = 40, .D = 32, .causal = top_left},
    {.H = 2, .Tk = 40, .D = 32, .causal = bottom_right},
    // bias: every shape, -inf in every way, with causality too
    {.B = 2, .H = 2, .Tq = 19, .Tk = 67, .D = 32, .bias = BiasShape::qk, .equality = true, .tier = quick},
    {.B = 2, .H = 2, .Tq = 19, .Tk = 67, .D = 32, .bias = BiasShape::k, .equality = true},
    {.B = 2, .H = 2, .Tq = 19, .Tk = 67, .D = 32, .bias = BiasShape::bqk, .mask = Masking::holes, .equality = true},
    {.B = 2, .H = 2, .Tq = 19, .Tk = 67, .D = 32, .bias = BiasShape::b1k, .mask = Masking::padding, .equality = true},
    {.B = 2,
     .H = 2,
     .Tq = 19,
     .Tk = 67,
     .D = 32,
     .bias = BiasShape::bhqk,
     .mask = Masking::rows,
     .equality = true,
     .tier = quick},
    {.B = 2,
     .H = 4,
     .Hk = 2,
     .Tq = 19,
     .Tk = 67,
     .D = 32,
     .bias = BiasShape::b11k,
     .mask = Masking::padding,
     .f32_bias = true,
     .equality = true},
    {.B = 2, .H = 4, .Tq = 19, .Tk = 67, .D = 32, .bias = BiasShape::h11k, .f32_bias = true},
    {.B = 2, .H = 2, .Tq = 19, .Tk = 20, .D = 32, .bias = BiasShape::qk1, .mask = Masking::rows},
    {.H = 2,
     .Tq = 40,
     .Tk = 40,
     .D = 32,
     .causal = top_left,
     .bias = BiasShape::bhqk,
     .mask = Masking::holes,
     .equality = true},
    {.H = 2,
     .Tq = 21,
     .Tk = 40,
     .D = 32,
     .causal = bottom_right,
     .bias = BiasShape::qk,
     .f32_bias = true,
     .equality = true},
    // input kinds
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = uniform, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = wide, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = sink, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = cancelling, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 128, .D = 64, .kind = constant, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 256, .D = 64, .kind = powers, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = anti, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = equal, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = far, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = tiny, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = largest, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = overflow, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = zero_query, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 80, .D = 32, .Dv = 80, .kind = one_hot, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = ones_value, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 300, .D = 64, .kind = rising, .equality = true, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 128, .kind = last_dims, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .causal = bottom_right, .kind = wide},
    {.H = 2, .Tq = 16, .Tk = 16, .D = 64, .causal = top_left, .kind = far},
    // without a plant: what findings hold the planted ones below against
    {.H = 2, .Tq = 40, .Tk = 40, .D = 32, .causal = top_left, .equality = true},
    {.H = 2, .Tq = 33, .Tk = 49, .D = 32, .causal = top_left, .equality = true},
    {.H = 2, .Tq = 33, .Tk = 33, .D = 32, .causal = bottom_right, .equality = true},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .tier = quick},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .bias = BiasShape::k, .mask = Masking::padding},
    // special values
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .plant = Plant::nan_query, .equality = true, .tier = quick},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .plant = Plant::nan_key, .equality = true, .tier = quick},
    {.H = 2, .Tq = 40, .Tk = 40, .D = 32, .causal = top_left, .plant = Plant::nan_key, .equality = true},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .plant = Plant::nan_value, .equality = true, .tier = quick},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .plant = Plant::inf_key, .tier = quick},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .plant = Plant::inf_value, .tier = quick},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .plant = Plant::opposite_infs, .tier = quick},
    {.H = 2,
     .Tq = 33,
     .Tk = 49,
     .D = 32,
     .causal = top_left,
     .plant = Plant::hidden_nan_key,
     .equality = true,
     .tier = quick},
    {.H = 2,
     .Tq = 33,
     .Tk = 49,
     .D = 32,
     .causal = top_left,
     .plant = Plant::hidden_nan_value,
     .equality = true,
     .tier = quick},
    {.H = 2,
     .Tq = 33,
     .Tk = 33,
     .D = 32,
     .causal = bottom_right,
     .plant = Plant::partly_hidden_nan,
     .equality = true,
     .tier = quick},
    {.H = 2,
     .Tq = 8,
     .Tk = 70,
     .D = 32,
     .bias = BiasShape::k,
     .mask = Masking::padding,
     .plant = Plant::masked_nan_key,
     .equality = true,
     .tier = quick},
    {.H = 2,
     .Tq = 8,
     .Tk = 70,
     .D = 32,
     .bias = BiasShape::k,
     .mask = Masking::padding,
     .plant = Plant::masked_nan_value,
     .tier = quick},
    // what streaming adds: tiles of 64, 32 and 16 keys, several of queries, and rows that a first tile is hidden from
    {.H = 2, .Tq = 20, .Tk = 70, .D = 256, .causal = bottom_right, .equality = true},
    {.H = 2, .Tq = 18, .Tk = 40, .D = 512, .Dv = 64, .equality = true},
    {.Tq = 6, .Tk = 150, .D = 15, .Dv = 8},
    {.Tq = 6, .Tk = 150, .D = 192, .kind = last_dims},
    {.H = 2, .Tq = 9, .Tk = 140, .D = 32, .bias = BiasShape::bhqk, .mask = Masking::late, .equality = true},
    {.H = 5, .Hk = 5, .Tq = 2, .Tk = 300, .D = 16},
    {.H = 5, .Hk = 5, .Tq = 2, .Tk = 300, .D = 16, .plant = Plant::nan_key_by_tile},
    // special values where there is a bias, which hides no key
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .bias = BiasShape::qk, .equality = true},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .bias = BiasShape::qk, .plant = Plant::nan_query},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .bias = BiasShape::qk, .plant = Plant::nan_key, .equality = true},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .bias = BiasShape::qk, .plant = Plant::nan_value},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .bias = BiasShape::qk, .plant = Plant::inf_key},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .bias = BiasShape::qk, .plant = Plant::inf_value},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .bias = BiasShape::qk, .plant = Plant::opposite_infs},
    // scales far apart, and what must not set one
    {.H = 2, .Tq = 16, .Tk = 130, .D = 32, .kind = decades, .equality = true},
    {.H = 2, .Tq = 16, .Tk = 130, .D = 32, .kind = mixed},
    {.H = 2,
     .Tq = 33,
     .Tk = 33,
     .D = 32,
     .causal = bottom_right,
     .plant = Plant::partly_hidden_large,
     .equality = true},
    {.H = 2,
     .Tq = 8,
     .Tk = 60,
     .D = 32,
     .bias = BiasShape::k,
     .mask = Masking::padding,
     .plant = Plant::masked_large,
     .equality = true},
    // power past what `power_problems` has
    {.H = 2, .Hk = 2, .Tq = 2, .Tk = 65536, .D = 32, .kind = negative, .size_class = 65536},
    {.H = 2, .Hk = 2, .Tq = 2, .Tk = 65536, .D = 32, .kind = markers, .size_class = 65536},
    {.H = 2, .Hk = 2, .Tq = 2, .Tk = 65530, .D = 32, .kind = rising, .size_class = 65536},
    {.H = 2, .Hk = 2, .Tq = 2, .Tk = 65530, .D = 32, .kind = last_dims, .size_class = 65536},
    {.Tq = 32, .Tk = 65536, .D = 32, .Dv = 64, .kind = clusters, .size_class = 65536},
    // with --full
    {.B = 2, .H = 8, .Hk = 2, .Tq = 512, .Tk = 512, .D = 128, .equality = true, .tier = full},
    {.H = 2, .Tq = 1024, .Tk = 1024, .D = 64, .causal = bottom_right, .tier = full},
};

/// Power: what can be seen at each size, of all attention.
inline constexpr AttentionProblem power_problems[] = {
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 64, .D = 32, .kind = negative, .tier = quick, .size_class = 64},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 64, .D = 32, .kind = markers, .tier = quick, .size_class = 64},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 60, .D = 32, .kind = rising, .size_class = 64},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 60, .D = 32, .kind = last_dims, .size_class = 64},
    {.Tq = 32, .Tk = 64, .D = 32, .Dv = 64, .kind = clusters, .size_class = 64},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 1024, .D = 32, .kind = negative, .size_class = 1024},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 1024, .D = 32, .kind = markers, .size_class = 1024},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 1000, .D = 32, .kind = rising, .size_class = 1024},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 1000, .D = 32, .kind = last_dims, .size_class = 1024},
    {.Tq = 32, .Tk = 1024, .D = 32, .Dv = 64, .kind = clusters, .size_class = 1024},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 8192, .D = 32, .kind = negative, .size_class = 8192},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 8192, .D = 32, .kind = markers, .size_class = 8192},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 8190, .D = 32, .kind = rising, .size_class = 8192},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 8190, .D = 32, .kind = last_dims, .size_class = 8192},
    {.Tq = 32, .Tk = 8192, .D = 32, .Dv = 64, .kind = clusters, .size_class = 8192},
};

/// Of operands in e4m3 with scales.
inline constexpr AttentionProblem scaled_problems[] = {
    {.H = 4, .Hk = 2, .Tq = 130, .Tk = 257, .D = 64, .tier = quick},
    {.B = 2, .H = 8, .Hk = 1, .Tq = 17, .Tk = 33, .D = 16, .equality = true},
    {.B = 3, .H = 6, .Hk = 2, .Tq = 9, .Tk = 65, .D = 80, .Dv = 24, .equality = true, .tier = quick},
    {.H = 3, .Tq = 7, .Tk = 63, .D = 72, .equality = true},
    {.Tk = 1, .D = 1},
    {.H = 2, .Tq = 20, .Tk = 70, .D = 256, .causal = bottom_right, .equality = true},
    {.H = 2, .Tq = 5, .Tk = 40, .D = 512, .Dv = 64},
    {.H = 2, .Tq = 33, .Tk = 17, .D = 32, .causal = top_left},
    {.H = 2, .Tq = 17, .Tk = 130, .D = 32, .causal = bottom_right, .equality = true},
    {.B = 2, .H = 2, .Tq = 19, .Tk = 67, .D = 32, .bias = BiasShape::bhqk, .mask = Masking::rows, .equality = true},
    {.B = 2, .H = 4, .Hk = 2, .Tq = 19, .Tk = 67, .D = 32, .bias = BiasShape::b11k, .mask = Masking::padding},
    {.Tq = 16, .Tk = 48, .D = 32, .scale = 0.5f},
    {.H = 2, .Tq = 20, .Tk = 3, .D = 16},                          // each weight's narrowing shows
    {.Tq = 2, .Tk = 8192, .D = 32, .scale = 0.6f, .kind = faint},  // weights between 2^-10 and 2^-15
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = wide, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = sink},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = cancelling},
    {.H = 2, .Tq = 16, .Tk = 128, .D = 64, .kind = constant, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = far},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = tiny, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = overflow},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = largest, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 200, .D = 64, .kind = zero_query},
    {.H = 2, .Tq = 16, .Tk = 300, .D = 64, .kind = rising, .equality = true},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .plant = Plant::nan_query, .tier = quick},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .plant = Plant::nan_key, .tier = quick},
    {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .plant = Plant::nan_value, .tier = quick},
    {.H = 2, .Tq = 33, .Tk = 49, .D = 32, .causal = top_left, .plant = Plant::hidden_nan_key},
    {.H = 2, .Tq = 33, .Tk = 33, .D = 32, .causal = bottom_right, .plant = Plant::partly_hidden_nan, .equality = true},
    {.H = 2,
     .Tq = 8,
     .Tk = 70,
     .D = 32,
     .bias = BiasShape::k,
     .mask = Masking::padding,
     .plant = Plant::masked_nan_value},
};
}  // namespace attention_table

}  // namespace nbx::contracts
