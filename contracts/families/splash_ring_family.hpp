// The ring of splash attention as the contracts know it: two families over one table of problems.
#pragma once

#include "contracts/families/family.hpp"
#include "contracts/families/splash_inputs.hpp"
#include "contracts/families/splash_ring_problems.hpp"

namespace nbx::contracts {

/// splash_ring, and splash_ring_online, which keeps a running maximum.
const Family& splash_ring_family(bool fixed);

/// A ring's inputs, and what follows from them.
struct SplashRingData {
  SplashData whole;                                      // all keys, without padding
  std::int64_t capacity = 0;                             // of a shard
  std::vector<std::int64_t> keys;                        // of each rank's shard
  std::vector<SharedBytes> k, v;                         // of each rank: [B, Hk, keys, D or Dv]
  std::vector<std::vector<oracle::SplashBlock>> blocks;  // by all keys, then by each shard: [B, H, nQ] each
  std::vector<oracle::SplashWindow> window;              // likewise
  std::vector<double> k_norm2, v_ok;                     // [ranks, B, Hk], fp32 numbers
  bool uniform = false;                                  // every block is eligible by all keys
  bool either = false;                                   // a flag that may be right either way

  /// The keys of rank `shard` alone, or all of them for -1. Of views of this data.
  oracle::SplashInput input(const SplashRingProblem& problem, int shard) const;
};
std::string problem_name(const SplashRingProblem& problem);
SplashRingData make_ring_data(const SplashRingProblem& problem, DLDataType format, std::uint64_t seed);

/// The plain call of all ranks; shards of `capacity` keys, with NaN behind the real ones.
Call ring_call(const SplashRingProblem& problem, bool fixed, const SplashRingData& data, std::int64_t capacity);
std::vector<Way> ring_ways(const SplashRingProblem& problem, bool fixed, const SplashRingData& data,
                           std::string_view clause);
std::vector<Refusal> ring_refusals(bool fixed, const Call& plain);

/// Per row [B, H, Tq]: the largest shift that a hop subtracts, NaN where every hop follows a maximum.
std::vector<double> ring_shifts(const SplashRingProblem& problem, const SplashRingData& data);
/// mk_made and uniform_made.
std::vector<oracle::Evaluation::Output> ring_flag_outputs(const SplashRingProblem& problem, const SplashRingData& data,
                                                          std::size_t arithmetics);
/// gate1.lost_mass.
OwnVerdict judge_ring_mass(const SplashRingProblem& problem, const SplashRingData& data, const Call& call,
                           const std::vector<Bytes>& outputs);

}  // namespace nbx::contracts
