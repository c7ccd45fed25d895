// What a ring of splash attention decides, one decision a function; see rules.hpp.
#pragma once

#include "kernels/splash/rules.hpp"

namespace nbx::splash {

struct RingRules : Rules {
  /// What the attention of one hop goes by.
  using Attention = Rules;

  // --- flags ---
  /// Whether the largest norm that a rank's shifts stand on takes in rank `from`'s keys.
  NBX_FUNCTION static bool norm_counts(int /*from*/, int /*own*/) { return true; }
  /// Whether rank `from`'s v_ok counts on rank `own`.
  NBX_FUNCTION static bool values_count(int /*from*/, int /*own*/) { return true; }
  /// Whether rank `from`'s blocks may keep rank `own` from the uniform way.
  NBX_FUNCTION static bool flag_counts(int /*from*/, int /*own*/) { return true; }
  /// ‖k_raw‖² ≤ 2 (‖k − k̄‖² + ‖k̄‖²).
  NBX_FUNCTION static float raw_norm2(float k2, float mean2) { return 2.0F * (k2 + mean2) * (1.0F + 0x1p-22F); }

  // --- hops ---
  static int hops(int ranks) { return ranks; }
  /// Whose keys hop `hop` of rank `rank` reads, where everything moves from rank i to i + 1.
  static int shard(int rank, int hop, int ranks) { return (rank - hop + ranks) % ranks; }
  /// The metadata of a uniform hop: 0 is that of all keys, which every hop shares; 1 + s that of shard s.
  static int uniform_entry(int /*shard*/) { return 0; }

  // --- merging ---
  /// Sums of one shift add up.
  NBX_FUNCTION static float added(float sum, float hop) { return sum + hop; }
  /// The base-2 LSE of a hop; −inf of an empty one.
  NBX_FUNCTION static float lse(float m, float l) { return tile::select(l == 0.0F, Max::identity, m + tile::log2(l)); }
  /// 2^(L − M), 0 for an empty side: −inf − (−inf) is never asked.
  NBX_FUNCTION static float share(float lse, float largest) {
    return tile::select(lse == Max::identity, 0.0F, tile::exp2(lse - largest));
  }
};

}  // namespace nbx::splash
