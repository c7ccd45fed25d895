// The flags of a ring: shift and flag of every query block, once for the keys of all ranks and once for each shard, and
// whether every block of every rank is eligible.
#pragma once

#include "kernels/splash/metadata.hpp"
#include "kernels/splash/ring_problem.hpp"
#include "kernels/splash/ring_rules.hpp"

namespace nbx::splash {

/// Scratch is dense, in fp32; outputs that are not asked for are null.
struct RingFlagArguments {
  std::int64_t B, H, Hk, D, group, blocks;
  int rank, ranks;
  const float *k_norm2, *v_ok;  // [n, B, Hk], n = 1 or ranks
  pack::Layout<3> k_norm2_at, v_ok_at;
  float* own;          // [2, B, Hk]: what this rank sends, squared norms and v_ok
  float* gathered;     // [ranks, 2, B, Hk]
  const float* query;  // [B, H, blocks]
  const float* k_mean;
  pack::Layout<3> k_mean_at;
  float* mk;  // [1 + ranks, B, 2, H, blocks]
  float* mk_made;
  pack::Layout<5> mk_made_at;
  float* words;  // [ranks]: 1 where all blocks of a rank are eligible
  float* all;    // 1 where all of them are
  float* uniform_made;
  Window window[1 + most_ranks];  // of all keys, then of each shard
};

/// Squared norms and v_ok as one dense message: of this rank, or, where they are gathered already, of all.
template <class R>
struct NormMessage {
  RingFlagArguments a;
  int ranks;
  float* to;  // [ranks, 2, B, Hk]

  std::int64_t blocks() const { return 1; }
  std::size_t tile_bytes() const { return 0; }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t heads = a.B * a.Hk;
    const auto& arguments = a;
    float* const out = to;
    block.phase(ranks * heads, [&arguments, out, heads](std::int64_t i) {
      const std::int64_t r = i / heads, b = i % heads / arguments.Hk, h = i % arguments.Hk;
      const auto place = [&](const pack::Layout<3>& at) {
        return r * at.stride[0] + b * at.stride[1] + h * at.stride[2];
      };
      out[2 * r * heads + i % heads] = arguments.k_norm2[place(arguments.k_norm2_at)];
      out[(2 * r + 1) * heads + i % heads] = arguments.v_ok[place(arguments.v_ok_at)];
    });
  }
};

/// A block of the grid is (batch, head).
template <class R>
struct RingFlags {
  RingFlagArguments a;

  std::int64_t blocks() const { return a.B * a.H; }
  std::size_t tile_bytes() const { return tile::tile_bytes<float>(2, 1); }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t b = block.index() / a.H, h = block.index() % a.H, kv = R::kv_head(h, a.group);
    const auto facts = block.template tile<float>(2, 1);  // ‖k̄‖², whether all values fit
    const auto& arguments = a;
    block.phase(2, [&arguments, facts, b, kv](std::int64_t which) {
      if (which == 0) {
        facts(0, 0) = mean_norm2(arguments, b, kv);
      } else {
        facts(1, 0) = values_fit(arguments);
      }
    });
    block.phase((1 + a.ranks) * a.blocks, [&arguments, facts, b, h, kv](std::int64_t item) {
      decide(arguments, facts(0, 0), facts(1, 0) == 1.0F, b, h, kv, static_cast<int>(item / arguments.blocks),
             item % arguments.blocks);
    });
  }

 private:
  NBX_FUNCTION static float mean_norm2(const RingFlagArguments& a, std::int64_t b, std::int64_t kv) {
    if (a.k_mean == nullptr) return 0.0F;
    const auto& at = a.k_mean_at;
    float sum = 0;
    for (std::int64_t d = 0; d < a.D; ++d) {
      const float x = a.k_mean[b * at.stride[0] + kv * at.stride[1] + d * at.stride[2]];
      sum = tile::fma(x, x, sum);
    }
    return R::norm2(sum, a.D);
  }

  /// Of every rank, batch entry and KV head: one oversized value turns all to online.
  NBX_FUNCTION static float values_fit(const RingFlagArguments& a) {
    const std::int64_t heads = a.B * a.Hk;
    bool fit = true;
    for (int r = 0; r < a.ranks; ++r) {
      if (!R::values_count(r, a.rank)) continue;
      for (std::int64_t i = 0; i < heads; ++i) fit = fit && a.gathered[(2 * r + 1) * heads + i] == 1.0F;
    }
    return fit ? 1.0F : 0.0F;
  }

  NBX_FUNCTION static void decide(const RingFlagArguments& a, float mean2, bool values, std::int64_t b, std::int64_t h,
                                  std::int64_t kv, int entry, std::int64_t i) {
    const std::int64_t heads = a.B * a.Hk;
    float k2 = 0;
    for (int r = 0; r < a.ranks; ++r) {
      if (entry == 0 ? R::norm_counts(r, a.rank) : r == entry - 1) {
        k2 = tile::max_nan(k2, a.gathered[2 * r * heads + b * a.Hk + kv]);
      }
    }
    const float q2 = a.query[(b * a.H + h) * a.blocks + i];
    const float square = R::bound2(q2, k2);
    const Window& w = a.window[entry];
    const bool eligible = values && R::below_gate(square, w.gate) &&
                          R::scores_known(q2, a.k_mean == nullptr ? k2 : R::raw_norm2(k2, mean2), a.D);
    const float shift = eligible ? R::shift(square, w.gate, w.C) : 0.0F, flag = eligible ? 1.0F : 0.0F;
    float* const mk = a.mk + ((entry * a.B + b) * 2 * a.H + h) * a.blocks + i;
    mk[0] = shift;
    mk[a.H * a.blocks] = flag;
    if (a.mk_made == nullptr) return;
    const auto& at = a.mk_made_at;
    float* const made = a.mk_made + entry * at.stride[0] + b * at.stride[1] + h * at.stride[3] + i * at.stride[4];
    made[0] = shift;
    made[at.stride[2]] = flag;
  }
};

/// From the words of all ranks to the one that lets launches run: one block of the grid.
template <class R>
struct AllRanks {
  RingFlagArguments a;

  std::int64_t blocks() const { return 1; }
  std::size_t tile_bytes() const { return 0; }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const auto& arguments = a;
    block.phase(1, [&arguments](std::int64_t) {
      bool all = true;
      for (int r = 0; r < arguments.ranks; ++r) {
        if (R::flag_counts(r, arguments.rank)) all = all && arguments.words[r] == 1.0F;
      }
      *arguments.all = all ? 1.0F : 0.0F;
      if (arguments.uniform_made != nullptr) *arguments.uniform_made = *arguments.all;
    });
  }
};

}  // namespace nbx::splash
