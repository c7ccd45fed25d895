// Splash attention over a ring: each rank keeps its queries, the shards of the keys go round. One rank's call, from its
// problem to launches and exchanges; every rank makes the same exchanges in the same order, whatever its data.
#pragma once

#include <utility>

#include "kernels/splash/kernel.hpp"
#include "kernels/splash/ring_flags.hpp"
#include "kernels/splash/ring_merge.hpp"

namespace nbx::splash {

/// Real keys and values of a shard as one dense message: k [B, Hk, Tk, D], then v [B, Hk, Tk, Dv]. A block of the grid
/// is (batch, KV head, 64 keys).
template <class T>
struct PackShard {
  AttendArguments<T> a;  // k, v and their strides
  std::int64_t heads, Tk, keys;
  T *k, *v;

  std::int64_t blocks() const { return a.B * heads * tile::ceil_div(keys, norm_tile); }
  std::size_t tile_bytes() const { return 0; }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t tiles = tile::ceil_div(keys, norm_tile);
    const std::int64_t head = block.index() / tiles, first = block.index() % tiles * norm_tile;
    const std::int64_t rows = keys - first < norm_tile ? keys - first : norm_tile;
    const auto copy = [&](const T* from, const pack::Layout<4>& at, T* to, std::int64_t columns) {
      const T* const source = from + head / heads * at.stride[0] + head % heads * at.stride[1] + first * at.stride[2];
      T* const target = to + (head * Tk + first) * columns;
      const std::int64_t row_step = at.stride[2], step = at.stride[3];
      block.phase_rows(
          rows, columns, [](std::int64_t r) { return r; },
          [=](std::int64_t row, std::int64_t, std::int64_t c) {
            target[row * columns + c] = source[row * row_step + c * step];
          });
    };
    copy(a.k, a.k_at, k, a.D);
    copy(a.v, a.v_at, v, a.Dv);
  }
};

/// Two buffers of one direction: what was received last, and where the next goes.
template <class T>
struct Conveyor {
  T *now, *next;
};

/// Where a ring's scratch lies.
template <class T>
struct RingScratch {
  std::uint64_t o_hop, l_hop, m_hop, o, l, shard[4], own = 0, gathered = 0, query = 0, mk = 0, word = 0, words = 0,
                                                     all = 0, bytes = 0;
  std::int64_t shard_elements;

  RingScratch(const Ring& s, bool fixed) {
    Buffers buffers;
    o_hop = buffers.take("o", {s.B, s.H, s.Tq, s.Dv});
    l_hop = buffers.take("l", {s.B, s.H, s.Tq});
    m_hop = buffers.take("m", {s.B, s.H, s.Tq});
    o = buffers.take("o", {s.B, s.H, s.Tq, s.Dv});
    l = buffers.take("l", {s.B, s.H, s.Tq});
    shard_elements = static_cast<std::int64_t>(pack::product("k", {s.B, s.Hk, s.Tk, s.D + s.Dv}));
    const std::int64_t floats = (shard_elements * static_cast<std::int64_t>(sizeof(T)) + 3) / 4;
    const int shards = s.ranks == 1 ? 0 : fixed ? 2 : 4;
    for (int i = 0; i < 4; ++i) shard[i] = i < shards ? buffers.take("k", {floats}) : 0;
    if (fixed) {
      own = buffers.take("norms", {2, s.B, s.Hk});
      gathered = buffers.take("norms", {s.ranks, 2, s.B, s.Hk});
      query = buffers.take("norms", {s.B, s.H, s.blocks});
      mk = buffers.take("mk", {1 + s.ranks, s.B, 2, s.H, s.blocks});
      word = buffers.take("all", {1});
      words = buffers.take("all", {s.ranks});
      all = buffers.take("all", {1});
    }
    bytes = buffers.bytes();
  }
};

inline void communicated(const char* what, nbx_status status) {
  if (status == NBX_OK) return;
  throw pack::Refusal{NBX_INTERNAL, std::string(what) + ": status " + std::to_string(status) +
                                        " of the communicator: a rank is gone, or calls something else"};
}

/// One rank's run.
template <class T, class R>
class RingRun {
 public:
  RingRun(const Ring& s, bool fixed, std::int64_t height, const nbx_launch& how, std::byte* memory)
      : s_(s), height_(height), how_(how), memory_(memory), scratch_(s, fixed) {
    base_ = attend_arguments<T, R>(s, Way::online);
    base_.o = nullptr;
    base_.o_sum = floats(memory, scratch_.o_hop);
    base_.o_sum_at = {{s.H * s.Tq * s.Dv, s.Tq * s.Dv, s.Dv, 1}};
    base_.l = floats(memory, scratch_.l_hop);
    base_.m = floats(memory, scratch_.m_hop);
    base_.l_at = base_.m_at = {{s.H * s.Tq, s.Tq, 1}};
    merge_.rows = s.B * s.H * s.Tq, merge_.Dv = s.Dv;
    merge_.o_hop = base_.o_sum, merge_.l_hop = base_.l, merge_.m_hop = base_.m;
    merge_.o = floats(memory, scratch_.o), merge_.l = floats(memory, scratch_.l);
  }

  /// Uniform where every block of every rank is eligible, else each hop by its own shard's flags.
  void run_fixed() {
    const RingFlagArguments flags = make_flags();
    Conveyor<T> belt = conveyor(0);
    const int hops = R::hops(s_.ranks);
    for (int hop = 0; hop < hops; ++hop) {
      const int shard = R::shard(s_.rank, hop, s_.ranks);
      AttendArguments<T> a = arguments_of(shard, hop == 0 ? nullptr : belt.now);
      a.k_mean = flags.k_mean, a.k_mean_at = flags.k_mean_at;
      for (const bool uniform : {true, false}) {
        const int entry = uniform ? R::uniform_entry(shard) : 1 + shard;
        a.way = uniform ? Way::pinned : Way::flagged;
        a.mk = flags.mk + entry * s_.B * 2 * s_.H * s_.blocks;
        a.mk_at = {2 * s_.H * s_.blocks, s_.H * s_.blocks, s_.blocks, 1};
        a.guard = {flags.all, uniform ? 1.0F : 0.0F};
        add(a, hop == 0, uniform);
      }
      if (hop + 1 < hops && s_.ranks > 1) pass_on(belt, 1);
    }
    for (const bool uniform : {true, false}) store(Guard{flags.all, uniform ? 1.0F : 0.0F}, uniform);
  }

  /// A running maximum throughout; shards come from both sides.
  void run_online() {
    const int half = R::hops(s_.ranks) / 2;
    Conveyor<T> forward = conveyor(0), backward = conveyor(2);
    add(arguments_of(s_.rank, nullptr), true, false);
    for (int hop = 1; hop <= half; ++hop) {
      pass_on(forward, 1);
      add(arguments_of(R::shard(s_.rank, hop, s_.ranks), forward.now), false, false);
      if (2 * hop == s_.ranks) break;  // the shard opposite came already
      pass_on(backward, s_.ranks - 1);
      add(arguments_of(R::shard(s_.rank, s_.ranks - hop, s_.ranks), backward.now), false, false);
    }
    store(Guard{}, false);
  }

 private:
  float* place(std::uint64_t at) const { return floats(memory_, at); }

  /// Both buffers of a direction, the first with this rank's own shard.
  Conveyor<T> conveyor(int first) const {
    if (s_.ranks == 1) return {};
    const auto at = [&](int i) { return reinterpret_cast<T*>(memory_ + scratch_.shard[i]); };
    const Conveyor<T> belt{at(first), at(first + 1)};
    const std::int64_t keys = s_.shard_keys[static_cast<std::size_t>(s_.rank)];
    start("shard", PackShard<T>{base_, s_.Hk, s_.Tk, keys, belt.now, values(belt.now)}, how_);
    return belt;
  }
  T* values(T* shard) const { return shard + s_.B * s_.Hk * s_.Tk * s_.D; }

  /// Sends what came last `step` ranks on, and receives from as many before.
  void pass_on(Conveyor<T>& belt, int step) const {
    const int to = (s_.rank + step) % s_.ranks, from = (s_.rank - step + s_.ranks) % s_.ranks;
    communicated("exchange", s_.communicator->exchange(s_.communicator, belt.now, to, belt.next, from,
                                                       static_cast<std::uint64_t>(scratch_.shard_elements) * sizeof(T),
                                                       how_.stream));
    std::swap(belt.now, belt.next);
  }

  /// Attention to the keys of a shard: dense at `at`, or this rank's own tensors.
  AttendArguments<T> arguments_of(int shard, T* at) const {
    AttendArguments<T> a = base_;
    a.Tk = R::keys(s_.shard_keys[static_cast<std::size_t>(shard)]);
    if (at == nullptr) return a;
    a.k = at, a.v = values(at);
    a.k_at = {{s_.Hk * s_.Tk * s_.D, s_.Tk * s_.D, s_.D, 1}};
    a.v_at = {{s_.Hk * s_.Tk * s_.Dv, s_.Tk * s_.Dv, s_.Dv, 1}};
    return a;
  }

  RingFlagArguments make_flags() const {
    MetadataArguments<T> queries{};
    queries.B = s_.B, queries.H = s_.H, queries.Tq = s_.Tq, queries.D = s_.D;
    queries.block_q = s_.block_q, queries.blocks = s_.blocks;
    queries.q = s_.q.as<const T>(), queries.q_at = pack::layout<4>(s_.q);
    queries.query_part = place(scratch_.query);
    start("query norms", QueryNorms<T, R>{queries}, how_);

    RingFlagArguments a{};
    a.B = s_.B, a.H = s_.H, a.Hk = s_.Hk, a.D = s_.D, a.group = s_.group(), a.blocks = s_.blocks;
    a.rank = s_.rank, a.ranks = s_.ranks;
    give(s_.k_norm2, a.k_norm2, a.k_norm2_at);
    give(s_.v_ok, a.v_ok, a.v_ok_at);
    give(s_.k_mean, a.k_mean, a.k_mean_at);
    give(s_.mk_made, a.mk_made, a.mk_made_at);
    if (s_.uniform_made) a.uniform_made = s_.uniform_made->as<float>();
    a.own = place(scratch_.own), a.gathered = place(scratch_.gathered), a.query = queries.query_part;
    a.mk = place(scratch_.mk), a.words = place(scratch_.words), a.all = place(scratch_.all);
    a.window[0] = R::window(s_.all_keys, s_.v_max);
    for (int r = 0; r < s_.ranks; ++r) {
      const std::int64_t keys = s_.shard_keys[static_cast<std::size_t>(r)];
      a.window[1 + r] = R::window(std::max<std::int64_t>(keys, 1), s_.v_max);
    }
    gather_norms(a);
    start("flags", RingFlags<R>{a}, how_);

    MetadataArguments<T> blocks{};
    blocks.B = s_.B, blocks.H = s_.H, blocks.blocks = s_.blocks;
    blocks.mk = a.mk, blocks.mk_at = {2 * s_.H * s_.blocks, s_.H * s_.blocks, s_.blocks, 1};
    blocks.all = s_.ranks == 1 ? a.words : place(scratch_.word);
    start("eligible", AllEligible<T, R>{blocks}, how_);
    if (s_.ranks > 1) gather("flags", blocks.all, a.words, sizeof(float));
    start("flags of all ranks", AllRanks<R>{a}, how_);
    return a;
  }

  void gather_norms(const RingFlagArguments& a) const {
    const bool gathered = s_.pregathered || s_.ranks == 1;
    start("norms", NormMessage<R>{a, gathered ? s_.ranks : 1, gathered ? a.gathered : a.own}, how_);
    if (gathered) return;
    gather("norms", a.own, a.gathered, static_cast<std::uint64_t>(2 * s_.B * s_.Hk) * sizeof(float));
  }

  void gather(const char* what, const float* own, float* all, std::uint64_t bytes) const {
    communicated(what, s_.communicator->all_gather(s_.communicator, own, all, bytes, how_.stream));
  }

  void add(const AttendArguments<T>& a, bool first, bool uniform) const {
    attend<T, typename R::Attention>(a, s_.ftz, height_, how_);
    MergeArguments merge = merge_;
    merge.first = first, merge.guard = a.guard;
    if (uniform) {
      s_.ftz ? start("hop", AddHop<R, true>{merge}, how_) : start("hop", AddHop<R, false>{merge}, how_);
    } else {
      s_.ftz ? start("hop", MergeHop<R, true>{merge}, how_) : start("hop", MergeHop<R, false>{merge}, how_);
    }
  }

  void store(const Guard& guard, bool sums) const {
    MergeArguments merge = merge_;
    merge.guard = guard;
    T* const out = s_.o->as<T>();
    const pack::Layout<4> at = pack::layout<4>(*s_.o);
    if (s_.ftz) {
      start("output", StoreOutput<T, R, true>{merge, s_.H, s_.Tq, out, at, sums}, how_);
    } else {
      start("output", StoreOutput<T, R, false>{merge, s_.H, s_.Tq, out, at, sums}, how_);
    }
  }

  const Ring& s_;
  std::int64_t height_;
  const nbx_launch& how_;
  std::byte* memory_;
  RingScratch<T> scratch_;
  AttendArguments<T> base_{};
  MergeArguments merge_{};
};

/// What both rings share. `Fixed`: see RingSupport.
template <class T, class R, bool Fixed>
struct RingCommon {
  static constexpr DLDataType format = pack::type_of<T>;
  static constexpr const char* family = Fixed ? "splash_ring" : "splash_ring_online";

  static Ring read(const nbx_problem& problem, bool with_data) {
    return read_ring(problem, {family, format, tile::device, Fixed}, with_data);
  }
  static void can_run(const nbx_problem& problem) { read(problem, false); }

  /// Keys come in the order of the hops: any order of additions. Each hop's result is one of the merged.
  static nbx_arithmetic arithmetic(const nbx_problem& problem) {
    Ring s = read(problem, false);
    const std::int64_t most = *std::max_element(s.shard_keys.begin(), s.shard_keys.end());
    s.Tk = most;
    nbx_arithmetic out = attend_arithmetic(s, format, Fixed, true);
    out.pv.unit = NBX_ANY_ORDER;
    out.pv.unit_roundoff = 0x1p-24;
    out.sum_depth += s.ranks - 1;
    out.merges = s.ranks == 1 ? 0 : s.ranks;
    return out;
  }
  static std::int64_t block_rows(const nbx_launch* how) {
    return pack::Options(how, {"block_rows"}).integer("block_rows", default_block_rows, 1, 32);
  }
  static std::uint64_t bytes(const Ring& s) { return RingScratch<T>(s, Fixed).bytes; }
  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch* how) {
    block_rows(how);
    return bytes(read(problem, false));
  }
  /// Talks to no other rank.
  static void check(const nbx_problem& problem, const nbx_launch* how) {
    const Ring s = read(problem, true);
    block_rows(how);
    if (how != nullptr) pack::require_workspace(*how, bytes(s));
  }
  static void run(const nbx_problem& problem, const nbx_launch& how) {
    Ring s = read(problem, true);
    const std::int64_t height = block_rows(&how);
    std::byte* const memory = pack::require_workspace(how, bytes(s));
    if (!Fixed) s.block_q = std::max<std::int64_t>(1, s.Tq), s.blocks = 1;
    RingRun<T, R> run(s, Fixed, height, how, memory);
    if constexpr (Fixed) {
      run.run_fixed();
    } else {
      run.run_online();
    }
  }

  static constexpr pack::List<nbx_axis, 1> axes{pack::axis("block_rows", "gate3.grid", block_row_values)};
};

/// splash.ring: fixed-m over all ranks where every block is eligible, else hop by hop.
template <class T, class R = RingRules>
struct RingKernel : RingCommon<T, R, true> {
  static constexpr std::array<const char*, 2> optional_outputs{"mk_made", "uniform_made"};
  static constexpr bool wide = std::is_same_v<T, float>;
  static constexpr pack::List<nbx_equality, 7> equalities{
      pack::promised("gate3.grid"),
      pack::not_promised("gate3.batch", "one batch entry that falls back sends all of them another way"),
      pack::promised("gate3.view"),
      pack::promised("gate3.pad"),
      pack::promised("gate3.twin"),
      pack::promised("gate3.pair", wide ? "splash.ring.f32" : "splash.ring.bf16"),
      pack::promised("gate3.pair", wide ? "splash.hybrid.f32" : "splash.hybrid.bf16")};
};

/// splash.ring_online: shards in both directions, a running maximum.
template <class T, class R = RingRules>
struct RingOnlineKernel : RingCommon<T, R, false> {
  static constexpr pack::List<nbx_equality, 6> equalities{
      pack::promised("gate3.grid"),
      pack::promised("gate3.batch"),
      pack::promised("gate3.view"),
      pack::promised("gate3.pad"),
      pack::promised("gate3.twin"),
      pack::promised("gate3.pair", std::is_same_v<T, float> ? "splash.online.f32" : "splash.online.bf16")};
};

}  // namespace nbx::splash
