// The problems of the ring. Add one: a line here.
#pragma once

#include "contracts/families/splash_problems.hpp"

namespace nbx::contracts {

/// Queries and keys of all ranks as one problem; rank r holds the r-th part of each.
struct SplashRingProblem {
  SplashProblem whole{};  // its `uniform` is not read: that follows from the bounds
  int ranks = 1;
  int empty = -1, empties = 1;  // the first of `empties` ranks without keys; -1: none
  bool centred = false, pregathered = false;
};

namespace splash_ring_table {
using enum SplashKind;
inline constexpr Tier quick = Tier::quick;

inline constexpr SplashRingProblem problems[] = {
    // every number of ranks: ragged shards, GQA, several query blocks a rank
    {.whole = {.H = 4, .Hk = 2, .Tq = 32, .Tk = 130, .block_q = 16, .equality = true, .tier = quick}, .centred = true},
    {.whole = {.H = 4, .Hk = 2, .Tq = 32, .Tk = 131, .block_q = 8, .equality = true, .tier = quick}, .ranks = 2},
    {.whole = {.B = 2, .H = 2, .Tq = 32, .Tk = 150, .D = 72, .Dv = 24, .block_q = 4, .equality = true},
     .ranks = 4,
     .centred = true},
    {.whole = {.H = 2, .Tq = 32, .Tk = 203, .D = 128, .block_q = 4, .tier = quick}, .ranks = 8},
    {.whole = {.H = 2, .Tq = 16, .Tk = 70, .block_q = 4, .ftz = true}, .ranks = 2, .centred = true},
    // what keeps a ring from the uniform way, and a rank without keys
    {.whole = {.H = 2, .Hk = 2, .Tq = 32, .Tk = 130, .block_q = 8, .kind = sink_head, .size = 6, .equality = true},
     .centred = true},
    {.whole = {.H = 2, .Tq = 32, .Tk = 130, .block_q = 8, .kind = hot_block, .equality = true, .tier = quick},
     .ranks = 2},
    {.whole = {.B = 2, .H = 2, .Tq = 16, .Tk = 70, .block_q = 4, .kind = bad_sample, .tier = quick}, .ranks = 4},
    {.whole = {.H = 2, .Tq = 16, .Tk = 128, .block_q = 4, .kind = hot_keys, .size = 30, .tier = quick}, .ranks = 4},
    {.whole = {.H = 2, .Hk = 2, .Tq = 16, .Tk = 70, .block_q = 4, .kind = large_value, .tier = quick}, .ranks = 4},
    {.whole = {.H = 2, .Tq = 16, .Tk = 90, .block_q = 4, .tier = quick}, .ranks = 4, .empty = 1},
    {.whole = {.H = 2, .Tq = 16, .Tk = 90, .block_q = 4, .kind = sink_head, .size = 40},
     .ranks = 4,
     .empty = 0,
     .empties = 2},
    {.whole = {.H = 2, .Tq = 16, .Tk = 128, .block_q = 4, .kind = apart, .size = 20, .tier = quick}, .ranks = 2},
    {.whole = {.H = 2, .Tq = 16, .Tk = 128, .block_q = 4, .kind = apart, .size = 0.5}, .ranks = 4, .centred = true},
    {.whole = {.H = 2, .Tq = 16, .Tk = 130, .block_q = 8, .kind = offset, .size = 20, .tier = quick},
     .ranks = 2,
     .centred = true},
    {.whole = {.H = 2, .Tq = 16, .Tk = 130, .block_q = 8, .kind = moved, .size = 8}, .ranks = 2, .centred = true},
    {.whole = {.Tq = 16, .Tk = 100, .block_q = 8, .kind = anti}, .ranks = 2},
    {.whole = {.H = 2, .Tq = 16, .Tk = 70, .block_q = 4, .kind = zero}, .ranks = 4},
    {.whole = {.H = 2, .Tq = 16, .Tk = 128, .block_q = 4, .kind = hot_keys, .size = 3}, .ranks = 4},
    {.whole = {.Tq = 16, .Tk = 64, .D = 16, .block_q = 8, .kind = aligned, .size = -0.5, .tier = quick},
     .ranks = 2,
     .centred = true},
    {.whole = {.Tq = 16, .Tk = 64, .D = 16, .block_q = 8, .kind = boundary, .size = -0.5}, .ranks = 2},
    {.whole = {.Tq = 16, .Tk = 64, .D = 16, .block_q = 8, .kind = boundary, .size = 0.5, .tier = quick}, .ranks = 2},
    // special values
    {.whole =
         {.H = 2, .Hk = 2, .Tq = 16, .Tk = 70, .D = 32, .block_q = 4, .plant = SplashPlant::nan_key, .tier = quick},
     .ranks = 4},
    {.whole = {.H = 2, .Hk = 2, .Tq = 16, .Tk = 70, .D = 32, .block_q = 4, .plant = SplashPlant::nan_value},
     .ranks = 4},
    {.whole = {.H = 2, .Hk = 2, .Tq = 16, .Tk = 70, .D = 32, .block_q = 4, .plant = SplashPlant::inf_value},
     .ranks = 4},
    // power: what can be seen at each size
    {.whole = {.H = 2, .Hk = 2, .Tq = 4, .Tk = 64, .D = 32, .block_q = 2, .kind = negative, .size_class = 64},
     .ranks = 2},
    {.whole = {.H = 2, .Hk = 2, .Tq = 4, .Tk = 64, .D = 32, .block_q = 2, .kind = markers, .size_class = 64},
     .ranks = 2},
    {.whole = {.H = 2, .Hk = 2, .Tq = 4, .Tk = 60, .D = 32, .block_q = 2, .kind = rising, .size_class = 64},
     .ranks = 2},
    {.whole = {.H = 2, .Hk = 2, .Tq = 4, .Tk = 60, .D = 32, .block_q = 2, .kind = last_dims, .size_class = 64},
     .ranks = 2},
    {.whole = {.Tq = 32, .Tk = 64, .D = 32, .Dv = 64, .block_q = 16, .kind = clusters, .size_class = 64}, .ranks = 2},
};
}  // namespace splash_ring_table

}  // namespace nbx::contracts
