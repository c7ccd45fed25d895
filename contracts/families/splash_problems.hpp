// The problems of splash attention. Add one: a line here.
#pragma once

#include <cstdint>

#include "contracts/runner.hpp"

namespace nbx::contracts {

enum class SplashKind : std::uint8_t {
  normal,
  scaled,       // q and k × size
  sink_head,    // q and k of head 0 × size
  hot_block,    // q of query block 1 × 60
  boundary,     // U = gate + size, by construction
  anti,         // all scores below -100
  adversarial,  // half the keys 4 in the exponent below the others, under a bound of 231
  opposed,      // the same scores and values under a bound of 2
  bad_sample,   // q and k of one batch entry × 40
  large_value,  // one |v| of 512
  zero,         // Q = K = 0
  offset,       // all keys `size` away from 0 in each component
  uncentred,    // one key at +100, the others at -100
  flush,        // U = gate with all scores at -U, |v| from 2^-20 to 1; shifts are not centred
  moved,        // multiples of 1/16, and a constant vector of up to `size` added to every key, exactly
  apart,        // the first half of the keys `size` above 0 in each component, the others as far below
  hot_keys,     // the last quarter of the keys × size
  aligned,      // U = gate + size; the first half of the keys at +1, the others at -1, along the queries
  // of the power clause, as attention has them
  negative,
  markers,
  rising,
  last_dims,
  clusters,
};

enum class SplashPlant : std::uint8_t {
  none,
  nan_key,
  nan_value,
  inf_value,
  broken_promise,  // q grows until the bound passes the gate, and the metadata says eligible all the same
};

struct SplashProblem {
  std::int64_t B = 1, H = 1, Hk = 1, Tq = 1, Tk = 1, D = 64, Dv = 0;  // Dv 0: D
  std::int64_t block_q = 16;
  SplashKind kind = SplashKind::normal;
  double size = 0;
  bool per_head = false, ftz = false;
  SplashPlant plant = SplashPlant::none;
  bool uniform = false;   // all blocks are eligible, or are said to be: the uniform kernels are asked
  bool equality = false;  // gates 2 and 3 run on it
  Tier tier = Tier::standard;
  std::int64_t size_class = 0;  // of the power clause; 0: not one of its problems
};

namespace splash_table {
using enum SplashKind;
inline constexpr Tier quick = Tier::quick;

inline constexpr SplashProblem problems[] = {
    // ordinary shapes: GQA, ragged tails, blocks of one and of many tiles
    {.H = 4, .Hk = 2, .Tq = 64, .Tk = 257, .uniform = true, .equality = true, .tier = quick},
    {.B = 2, .H = 2, .Tq = 48, .Tk = 130, .D = 128, .uniform = true, .equality = true},
    {.H = 8, .Hk = 2, .Tq = 16, .Tk = 100, .D = 72, .Dv = 24, .block_q = 8, .uniform = true, .equality = true},
    {.Tq = 4, .Tk = 1, .D = 1, .block_q = 4, .uniform = true},
    {.Tq = 40, .Tk = 64, .D = 256, .block_q = 40, .uniform = true},
    {.H = 2, .Tq = 8, .Tk = 1001, .D = 128, .block_q = 8, .uniform = true},
    {.H = 2, .Tq = 32, .Tk = 130, .D = 64, .per_head = true, .uniform = true, .equality = true},
    {.H = 2, .Tq = 32, .Tk = 130, .D = 64, .ftz = true, .uniform = true, .equality = true},
    // what the bounds meet
    {.H = 2, .Hk = 2, .Tq = 32, .Tk = 130, .kind = sink_head, .size = 6, .equality = true, .tier = quick},
    {.H = 2, .Hk = 2, .Tq = 32, .Tk = 130, .kind = sink_head, .size = 40},
    {.H = 2, .Tq = 48, .Tk = 130, .kind = hot_block, .equality = true, .tier = quick},
    {.H = 2, .Tq = 48, .Tk = 130, .kind = hot_block, .per_head = true},
    {.Tq = 8, .Tk = 64, .D = 16, .block_q = 8, .kind = boundary, .size = -2, .uniform = true},
    {.Tq = 8, .Tk = 64, .D = 16, .block_q = 8, .kind = boundary, .size = -0.5, .uniform = true},
    {.Tq = 8, .Tk = 64, .D = 16, .block_q = 8, .kind = boundary, .size = -0.01, .uniform = true, .tier = quick},
    {.Tq = 8, .Tk = 64, .D = 16, .block_q = 8, .kind = boundary, .size = -0.01, .ftz = true, .uniform = true},
    {.Tq = 8, .Tk = 64, .D = 16, .block_q = 8, .kind = boundary, .size = 0},
    {.Tq = 8, .Tk = 64, .D = 16, .block_q = 8, .kind = boundary, .size = 0.01, .tier = quick},
    {.Tq = 8, .Tk = 64, .D = 16, .block_q = 8, .kind = boundary, .size = 0.5},
    {.Tq = 8, .Tk = 64, .D = 16, .block_q = 8, .kind = boundary, .size = 2},
    {.Tq = 16, .Tk = 100, .kind = anti, .uniform = true, .tier = quick},
    {.Tk = 4096, .D = 128, .block_q = 1, .kind = adversarial, .tier = quick},
    {.Tk = 4096, .D = 128, .block_q = 1, .kind = adversarial, .ftz = true, .tier = quick},
    {.B = 3, .H = 2, .Tq = 16, .Tk = 70, .kind = bad_sample, .equality = true, .tier = quick},
    {.H = 2, .Hk = 2, .Tq = 16, .Tk = 70, .kind = large_value, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 70, .kind = zero, .uniform = true, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 130, .kind = scaled, .size = 1e-3, .uniform = true},
    {.H = 2, .Tq = 16, .Tk = 130, .kind = scaled, .size = 0.1, .uniform = true},
    {.H = 2, .Tq = 16, .Tk = 130, .kind = scaled, .size = 1.5, .uniform = true},
    {.H = 2, .Tq = 16, .Tk = 130, .kind = offset, .size = 20, .uniform = true, .equality = true, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 130, .kind = offset, .size = 2000, .tier = quick},
    {.H = 2, .Tq = 16, .Tk = 130, .kind = moved, .size = 8, .uniform = true, .tier = quick},
    {.Tq = 8, .Tk = 70, .D = 16, .block_q = 8, .kind = uncentred, .tier = quick},
    {.Tq = 8, .Tk = 70, .D = 16, .block_q = 8, .kind = flush, .uniform = true, .tier = quick},
    {.Tq = 8, .Tk = 70, .D = 16, .block_q = 8, .kind = flush, .ftz = true, .uniform = true},
    // special values: no norm is finite then, so the blocks go online
    {.H = 2, .Hk = 2, .Tq = 16, .Tk = 70, .D = 32, .plant = SplashPlant::nan_key, .equality = true, .tier = quick},
    {.H = 2, .Hk = 2, .Tq = 16, .Tk = 70, .D = 32, .plant = SplashPlant::nan_value, .tier = quick},
    {.H = 2, .Hk = 2, .Tq = 16, .Tk = 70, .D = 32, .plant = SplashPlant::inf_value, .tier = quick},
    // a promise kept, and broken
    {.Tk = 4096, .D = 128, .block_q = 1, .kind = opposed, .uniform = true},
    {.Tk = 4096, .D = 128, .block_q = 1, .kind = opposed, .plant = SplashPlant::broken_promise, .uniform = true},
    {.Tk = 4096, .D = 128, .block_q = 1, .kind = opposed, .ftz = true, .uniform = true},
    {.Tk = 4096,
     .D = 128,
     .block_q = 1,
     .kind = opposed,
     .ftz = true,
     .plant = SplashPlant::broken_promise,
     .uniform = true},
    // power: what can be seen at each size
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 64, .D = 32, .block_q = 4, .kind = negative, .uniform = true, .size_class = 64},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 64, .D = 32, .block_q = 4, .kind = markers, .uniform = true, .size_class = 64},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 60, .D = 32, .block_q = 4, .kind = rising, .uniform = true, .size_class = 64},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 60, .D = 32, .block_q = 4, .kind = last_dims, .uniform = true, .size_class = 64},
    {.Tq = 32, .Tk = 64, .D = 32, .Dv = 64, .block_q = 32, .kind = clusters, .uniform = true, .size_class = 64},
    {.H = 2,
     .Hk = 2,
     .Tq = 4,
     .Tk = 1024,
     .D = 32,
     .block_q = 4,
     .kind = negative,
     .uniform = true,
     .size_class = 1024},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 1024, .D = 32, .block_q = 4, .kind = markers, .uniform = true, .size_class = 1024},
    {.H = 2, .Hk = 2, .Tq = 4, .Tk = 1000, .D = 32, .block_q = 4, .kind = rising, .uniform = true, .size_class = 1024},
    {.H = 2,
     .Hk = 2,
     .Tq = 4,
     .Tk = 1000,
     .D = 32,
     .block_q = 4,
     .kind = last_dims,
     .uniform = true,
     .size_class = 1024},
    {.Tq = 32, .Tk = 1024, .D = 32, .Dv = 64, .block_q = 32, .kind = clusters, .uniform = true, .size_class = 1024},
};
}  // namespace splash_table

}  // namespace nbx::contracts
