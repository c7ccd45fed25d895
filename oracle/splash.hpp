// What fixed-m attention is made of, exactly: the window, U of every query block and whether it is eligible, and the
// mass that a shift loses. Scores z = q·k are exponents of two.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/view.hpp"

namespace nbx::oracle {

/// C = 127 − ⌈log2 N⌉ − max(0, ⌈log2 Vmax⌉), W = C + 125, gate = ⌊W / 2⌋.
struct SplashWindow {
  int C, W, gate;
};
/// Throws std::invalid_argument for N ≤ 0, and for a Vmax that is not positive and finite.
SplashWindow splash_window(std::int64_t keys, double v_max);

/// q [B, H, Tq, D], k [B, Hk, Tk, D], v [B, Hk, Tk, Dv]. Norms are of k − k_mean.
struct SplashInput {
  View q, k, v;
  std::vector<double> k_mean;  // [B, Hk, D], exact fp32 numbers; empty: 0
  std::int64_t block_q = 1;    // query rows of a block; nQ = ⌈Tq / block_q⌉
  std::int64_t keys = 0;       // N of the window; 0: Tk
  double v_max = 256;
  bool per_head = false;  // one bound for all blocks of a head
  bool holds = true;      // the activation format holds 2^C: f32 and bf16, not f16 and fp8

  std::int64_t count() const { return keys > 0 ? keys : k.shape[2]; }
  std::int64_t blocks() const { return (q.shape[2] + block_q - 1) / block_q; }
};

/// One query block of one head. A kernel's norms are rounded upward, each squared norm by at most norm_slack: where
/// that reaches over the gate either flag is right, and ⌈U⌉ lies between `least` and `most`, neither above the gate.
struct SplashBlock {
  bool eligible = false;  // by the exact U, by v_ok and by what is known of the scores
  bool either = false;    // eligible, but not with norms that are rounded upward
  int least = 0, most = 0;
  double bound = 0;  // U, rounded
};
/// [B, H, nQ]
std::vector<SplashBlock> splash_blocks(const SplashInput& input);

/// The largest squared norms, rounded down and up by 2^-40 and less: of the rows of each query block, of the keys less
/// their mean; and the largest |v|. NaN where an element is not finite.
struct SplashNorms {
  std::vector<double> query;         // [B, H, nQ], of the head where per_head
  std::vector<double> key, raw_key;  // [B, Hk]
  std::vector<double> value;         // [B, Hk]: max |v|
};
SplashNorms splash_norms(const SplashInput& input);
/// A squared norm is (D + 4)·2^-52 of itself away from the exact one at most.
double norm_radius(std::int64_t D);
/// The most that a kernel's squared norm may exceed the exact one by, relatively: (D + 8)·2^-22.
double norm_slack(std::int64_t D);
/// γ of scores: 2 (D + 1)·2^-24, of z and of q·k_mean.
double score_slack(std::int64_t D);

/// What a row loses by its shift: weights 2^(z − m) below 2^-126 with flush-to-zero, below 2^-149 without.
struct LostMass {
  std::int64_t lost = 0;       // keys
  double share = 0;            // Σ lost p / Σ p, to 2^-40 of itself
  double contribution = 0;     // the largest over columns of Σ |p v| with |p v| below the same threshold, over Σ p
  double least = 0, most = 0;  // z − m over the row's keys, rounded
};
/// Row (b·H + h)·Tq + i under the exponent `shift` (a double, exactly). `centred`: q·k_mean is added to it, exactly.
LostMass lost_mass(const SplashInput& input, std::int64_t row, double shift, bool centred, bool flush_to_zero);

}  // namespace nbx::oracle
