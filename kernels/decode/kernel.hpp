// decode: one query a sequence against its cache, in segments that a second stage folds.
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/decode/reduce.hpp"
#include "kernels/decode/split.hpp"
#include "kernels/pack/entries.hpp"
#include "kernels/tile/table.hpp"

namespace nbx::decode {

/// Keys of a segment. Segments lie at multiples of it, so that what a row's bits depend on is its own keys alone.
inline constexpr std::int64_t segment_keys = 256;

struct Splits {
  std::int64_t count, width;
};

/// Segments of a fixed length.
struct FixedSplits {
  static Splits of(std::int64_t Tk) {
    return {std::max<std::int64_t>(1, tile::ceil_div(Tk, segment_keys)),
            std::min(segment_keys, std::max<std::int64_t>(Tk, 1))};
  }
};

/// The described system's: as many splits as the longest sequence has segments, at most 64, all of one length.
struct PublishedSplits {
  static Splits of(std::int64_t Tk) {
    const std::int64_t count = std::clamp<std::int64_t>(tile::ceil_div(Tk, segment_keys), 1, 64);
    return {count, std::max<std::int64_t>(1, tile::ceil_div(Tk, count))};
  }
};

/// Where the partials lie in the workspace.
struct Workspace {
  std::uint64_t l, o, bytes;  // m lies at 0
};

inline Workspace workspace(std::int64_t rows, std::int64_t splits, std::int64_t columns) {
  const std::uint64_t scalars = pack::round_up(pack::product("partials", {rows, splits, sizeof(float)}));
  const std::uint64_t sums = pack::product("partials", {rows, splits, columns, sizeof(float)});
  return {scalars, 2 * scalars, 2 * scalars + sums};
}

/// The arithmetic of segments of at most `width` of n keys, folded.
inline nbx_arithmetic arithmetic(std::int64_t n, const Splits& splits, bool scaled_values = false) {
  nbx_arithmetic out = pack::tile_arithmetic();
  out.scale_at = NBX_SCALE_SCORE;
  out.log2_at = NBX_EXP_NATURAL;
  out.normalise = NBX_DIVIDE_OUTPUT;
  out.masked_value = NBX_MASKED_INERT;
  out.qk.chains = tile::score_chains;
  out.pv.chains = tile::value_chains;
  out.pv.group_keys = static_cast<std::uint32_t>(splits.width);
  out.sum_depth = tile::sum_depth(std::min(n, splits.width)) + splits.count;
  // The share of a split is one more exponential and one more product.
  out.rescales = (splits.count > 1 ? 1 : 0) + (scaled_values ? 1 : 0);
  return out;
}

/// Refuses what can be read without the device.
inline void require_servable(const pack::Attention& a) {
  if (a.D > tile::longest_row || a.Dv > tile::longest_row) {
    pack::refuse(NBX_UNSUPPORTED, a.D > tile::longest_row ? "q" : "v", "head dim " + pack::text(std::max(a.D, a.Dv)),
                 "up to " + pack::text(std::int64_t{tile::longest_row}));
  }
  if (a.Tk > (std::int64_t{1} << 21)) pack::refuse(NBX_UNSUPPORTED, "k", "keys " + pack::text(a.Tk), "up to 2^21");
}

/// Refuses lengths outside 0 … Tk.
inline void require_lengths(const pack::Tensor& lengths, const nbx_launch* how, std::int64_t most, const char* what) {
  const std::vector<std::int32_t> table = tile::read_table(lengths, how);
  for (std::size_t b = 0; b < table.size(); ++b) {
    if (table[b] >= 0 && table[b] <= most) continue;
    pack::refuse(NBX_INVALID, lengths.name, pack::text(std::int64_t{table[b]}) + " of sequence " + std::to_string(b),
                 "0 to " + pack::text(most) + what);
  }
}

template <class T, class Q, class R>
void compute(const pack::Attention& a, const nbx_launch& how, const Splits& splits, std::int64_t members) {
  const Workspace place = workspace(a.B * a.H, splits.count, a.Dv);
  std::byte* const memory = pack::require_workspace(how, place.bytes);
  SplitProgram<T, Q, R> split{};
  split.H = a.H, split.Hk = a.Hk, split.Tk = a.Tk, split.group = a.group();
  split.members = std::max<std::int64_t>(1, std::min(members, split.group));
  split.parts = tile::ceil_div(split.group, split.members);
  split.splits = splits.count, split.width = splits.width;
  split.D = static_cast<int>(a.D), split.Dv = static_cast<int>(a.Dv);
  split.causal = a.causal, split.scale = a.scale;
  split.q = a.q.as<const Q>(), split.k = a.k.as<const T>(), split.v = a.v.as<const T>();
  split.q_at = pack::layout<4>(a.q), split.k_at = pack::layout<4>(a.k), split.v_at = pack::layout<4>(a.v);
  if (a.bias) {
    split.bias = a.bias->data;
    split.bias_in_f32 = pack::same(a.bias->type, pack::f32_type);
    split.bias_step = pack::layout<4>(*a.bias).stride[3];
  }
  if (a.seq_lens) {
    split.seq_lens = a.seq_lens->as<const std::int32_t>();
    split.seq_lens_step = pack::layout<1>(*a.seq_lens).stride[0];
  }
  split.m = reinterpret_cast<float*>(memory);
  split.l = reinterpret_cast<float*>(memory + place.l);
  split.o = reinterpret_cast<float*>(memory + place.o);
  const pack::Layout<4> o_at = pack::layout<4>(a.o);
  const pack::Layout<3> lse_at = a.lse ? pack::layout<3>(*a.lse) : pack::Layout<3>{};
  const Reduce<T, R> reduce{split.m,
                            split.l,
                            split.o,
                            a.B * a.H,
                            splits.count,
                            a.Dv,
                            a.o.as<T>(),
                            a.lse ? a.lse->as<float>() : nullptr,
                            a.H,
                            o_at.stride[0],
                            o_at.stride[1],
                            o_at.stride[3],
                            lse_at.stride[0],
                            lse_at.stride[1]};
  pack::launched("splits", tile::launch(split, split.blocks(a.B), how));
  pack::launched("reduce", tile::launch(reduce, reduce.blocks(), how));
}

/// A decode kernel in format T. Divide: FixedSplits or PublishedSplits. `members`: the heads of a group that a block
/// takes unless the launch says otherwise; 0: all.
template <class T, class R, class Divide, std::int64_t members>
struct Kernel {
  static constexpr const char* family = "decode";
  static constexpr DLDataType format = pack::type_of<T>;
  static constexpr std::array<const char*, 1> optional_outputs{"lse"};

  static pack::Attention read(const nbx_problem& problem, bool with_data) {
    const pack::Attention a = pack::read_attention(problem, {format, tile::device, true, true}, with_data);
    require_servable(a);
    return a;
  }
  static void can_run(const nbx_problem& problem) { read(problem, false); }
  static nbx_arithmetic arithmetic(const nbx_problem& problem) {
    const pack::Attention a = read(problem, false);
    return decode::arithmetic(a.Tk, Divide::of(a.Tk));
  }
  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Attention a = read(problem, false);
    block_heads(how);
    return workspace(a.B * a.H, Divide::of(a.Tk).count, a.Dv).bytes;
  }
  static void check(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Attention a = read(problem, true);
    block_heads(how);
    if (how != nullptr) pack::require_workspace(*how, workspace(a.B * a.H, Divide::of(a.Tk).count, a.Dv).bytes);
    if (a.seq_lens) require_lengths(*a.seq_lens, how, a.Tk, ", the keys of k");
  }
  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const pack::Attention a = read(problem, true);
    const std::int64_t heads = block_heads(&how);
    if constexpr (!std::is_same_v<T, float>) {
      if (a.q_round) return compute<T, float, R>(a, how, Divide::of(a.Tk), heads);
    }
    compute<T, T, R>(a, how, Divide::of(a.Tk), heads);
  }

  static std::int64_t block_heads(const nbx_launch* how) {
    if constexpr (members != 0) {
      const pack::Options none(how, {});
      return members;
    } else {
      return pack::Options(how, {"block_heads"}).integer("block_heads", 1 << 20, 1, 1 << 20);
    }
  }
};

}  // namespace nbx::decode
