// paged.decode: decode against a cache whose positions lie in pages.
#pragma once

#include "kernels/decode/kernel.hpp"
#include "kernels/paged/problem.hpp"

namespace nbx::paged {

/// What decode decides, and where a page lies.
struct Rules : decode::Rules {
  /// The page of a sequence's positions from page · page_tokens on. `row`: the sequence's entries of the block table.
  NBX_FUNCTION static std::int64_t page(const std::int32_t* row, std::int64_t number, std::int64_t step, std::int64_t) {
    return row[number * step];
  }
  /// How many keys a sequence has.
  NBX_FUNCTION static std::int64_t length(std::int64_t length, std::int64_t most) {
    return length < 0 ? 0 : (length < most ? length : most);
  }
};

/// A block is (sequence, KV head, segment, `members` query heads of the group), as in decode::SplitProgram. Of each 64
/// positions the block looks the page up once.
template <class T, class Q, class R>
struct SplitProgram {
  static constexpr int resident_blocks = sizeof(T) == 4 ? 2 : 3;

  std::int64_t H, Hk, most_keys, group, members, parts, splits, width, page_tokens, pages;
  int D, Dv;
  float scale;
  const Q* q;
  const T *k, *v;
  const std::int32_t *block_table, *seq_lens;
  pack::Layout<4> q_at, k_at, v_at;
  pack::Layout<2> table_at;
  std::int64_t seq_lens_step;
  float *m, *l, *o;  // [B, H, splits], o with Dv

  std::int64_t blocks(std::int64_t B) const { return B * Hk * splits * parts; }
  NBX_FUNCTION int tiles() const { return static_cast<int>(width / position_tile) + 2; }
  std::size_t tile_bytes() const {
    return 2 * tile::tile_bytes<std::int64_t>(1, tiles()) +
           decode::segment_bytes(static_cast<int>(members), static_cast<int>(width), D, Dv);
  }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t part = block.index() % parts, split = block.index() / parts % splits;
    const std::int64_t kv_head = block.index() / parts / splits % Hk, b = block.index() / parts / splits / Hk;
    const std::int64_t first = split * width, member = part * members;
    const std::int64_t heads = group - member < members ? group - member : members;
    decode::SegmentSizes of{};
    of.heads = static_cast<int>(heads), of.width = static_cast<int>(width);
    of.keys = static_cast<int>(R::keys(R::length(seq_lens[b * seq_lens_step], most_keys), first, width));
    of.depth = D, of.columns = Dv;
    of.q_step = q_at.stride[3], of.k_step = k_at.stride[3], of.v_step = v_at.stride[3];
    of.score_scale = scale;

    // Where each tile of 64 positions starts in both pools. Entries behind the last key are not looked at.
    const auto k_tile = block.template tile<std::int64_t>(1, tiles());
    const auto v_tile = block.template tile<std::int64_t>(1, tiles());
    const std::int64_t first_tile = first / position_tile;
    const std::int64_t used = of.keys == 0 ? 0 : (first + of.keys - 1) / position_tile - first_tile + 1;
    const std::int32_t* const entries = block_table + b * table_at.stride[0];
    const std::int64_t entry_step = table_at.stride[1], tokens = page_tokens, all = pages;
    const std::int64_t k_page = k_at.stride[0], k_token = k_at.stride[2], v_page = v_at.stride[0],
                       v_token = v_at.stride[2];
    block.phase(used, [=](std::int64_t i) {
      const std::int64_t position = (first_tile + i) * position_tile;
      const std::int64_t page = R::page(entries, position / tokens, entry_step, all);
      k_tile(0, static_cast<int>(i)) = page * k_page + position % tokens * k_token;
      v_tile(0, static_cast<int>(i)) = page * v_page + position % tokens * v_token;
    });

    const std::int64_t row = b * H + R::head(kv_head, member, group);
    const std::int64_t between = heads > 1 ? R::head(kv_head, member + 1, group) - R::head(kv_head, member, group) : 0;
    const decode::Partials to{m + row * splits + split,
                              l + row * splits + split,
                              o + (row * splits + split) * Dv,
                              between * splits,
                              between * splits,
                              between * splits * Dv,
                              1};
    const Q* const q_row = q + b * q_at.stride[0] + R::head(kv_head, member, group) * q_at.stride[1];
    const std::int64_t q_between = between * q_at.stride[1];
    const T* const k_head = k + kv_head * k_at.stride[1];
    const T* const v_head = v + kv_head * v_at.stride[1];
    constexpr std::uint32_t tile_positions = position_tile;
    const auto place = [=](tile::Tile<std::int64_t> starts, std::int64_t j, std::int64_t token) {
      const auto position = static_cast<std::uint32_t>(first + j);  // below 2^21
      const auto number = static_cast<int>(position / tile_positions - static_cast<std::uint32_t>(first_tile));
      return starts(0, number) + static_cast<std::int64_t>(position % tile_positions) * token;
    };
    decode::segment_partials<R, T>(
        block, of, to, false, [=](std::int64_t g) { return q_row + g * q_between; },
        [=](std::int64_t j) { return k_head + place(k_tile, j, k_token); },
        [=](std::int64_t j) { return v_head + place(v_tile, j, v_token); }, decode::NoBias{});
  }
};

/// A paged decode kernel in format T. Divide: decode::FixedSplits or PublishedSplits.
template <class T, class R, class Divide>
struct Kernel {
  static constexpr const char* family = "paged_decode";
  static constexpr DLDataType format = pack::type_of<T>;
  static constexpr std::array<const char*, 1> optional_outputs{"lse"};
  static constexpr std::array<std::int64_t, 3> block_head_values{1, 2, 3};
  static constexpr pack::List<nbx_axis, 1> axes{pack::axis("block_heads", "gate3.grid", block_head_values)};

  static Decode read(const nbx_problem& problem, bool with_data) {
    const Decode d = read_decode(problem, {format, tile::device}, with_data);
    if (d.D > tile::longest_row || d.Dv > tile::longest_row) {
      pack::refuse(NBX_UNSUPPORTED, d.D > tile::longest_row ? "q" : "v_pool",
                   "head dim " + pack::text(std::max(d.D, d.Dv)),
                   "up to " + pack::text(std::int64_t{tile::longest_row}));
    }
    if (d.keys() > (std::int64_t{1} << 21)) {
      pack::refuse(NBX_UNSUPPORTED, "max_seq_len", pack::text(d.max_seq_len), "up to 2^21");
    }
    return d;
  }
  static void can_run(const nbx_problem& problem) { read(problem, false); }
  static nbx_arithmetic arithmetic(const nbx_problem& problem) {
    const Decode d = read(problem, false);
    return decode::arithmetic(d.keys(), Divide::of(d.keys()));
  }
  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch* how) {
    const Decode d = read(problem, false);
    block_heads(how);
    return decode::workspace(d.B * d.H, Divide::of(d.keys()).count, d.Dv).bytes;
  }
  static void check(const nbx_problem& problem, const nbx_launch* how) {
    const Decode d = read(problem, true);
    block_heads(how);
    if (how != nullptr) {
      pack::require_workspace(*how, decode::workspace(d.B * d.H, Divide::of(d.keys()).count, d.Dv).bytes);
    }
    require_tables(d, tile::read_table(d.block_table, how).data(), tile::read_table(d.seq_lens, how).data());
  }
  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const Decode d = read(problem, true);
    if constexpr (!std::is_same_v<T, float>) {
      if (d.q_round) return compute<float>(d, how);
    }
    compute<T>(d, how);
  }

 private:
  static std::int64_t block_heads(const nbx_launch* how) {
    return pack::Options(how, {"block_heads"}).integer("block_heads", 1 << 20, 1, 1 << 20);
  }

  template <class Q>
  static void compute(const Decode& d, const nbx_launch& how) {
    const decode::Splits splits = Divide::of(d.keys());
    const decode::Workspace place = decode::workspace(d.B * d.H, splits.count, d.Dv);
    std::byte* const memory = pack::require_workspace(how, place.bytes);
    SplitProgram<T, Q, R> split{};
    split.H = d.H, split.Hk = d.Hk, split.most_keys = d.keys(), split.group = d.group();
    split.members = std::max<std::int64_t>(1, std::min(block_heads(&how), split.group));
    split.parts = tile::ceil_div(split.group, split.members);
    split.splits = splits.count, split.width = splits.width;
    split.page_tokens = d.page_tokens, split.pages = d.pages;
    split.D = static_cast<int>(d.D), split.Dv = static_cast<int>(d.Dv);
    split.scale = d.scale;
    split.q = d.q.as<const Q>(), split.k = d.k_pool.as<const T>(), split.v = d.v_pool.as<const T>();
    split.block_table = d.block_table.as<const std::int32_t>();
    split.seq_lens = d.seq_lens.as<const std::int32_t>();
    split.q_at = pack::layout<4>(d.q), split.k_at = pack::layout<4>(d.k_pool), split.v_at = pack::layout<4>(d.v_pool);
    split.table_at = pack::layout<2>(d.block_table);
    split.seq_lens_step = pack::layout<1>(d.seq_lens).stride[0];
    split.m = reinterpret_cast<float*>(memory);
    split.l = reinterpret_cast<float*>(memory + place.l);
    split.o = reinterpret_cast<float*>(memory + place.o);
    const pack::Layout<4> o_at = pack::layout<4>(d.o);
    const pack::Layout<3> lse_at = d.lse ? pack::layout<3>(*d.lse) : pack::Layout<3>{};
    const decode::Reduce<T, R> reduce{split.m,
                                      split.l,
                                      split.o,
                                      d.B * d.H,
                                      splits.count,
                                      d.Dv,
                                      d.o.as<T>(),
                                      d.lse ? d.lse->template as<float>() : nullptr,
                                      d.H,
                                      o_at.stride[0],
                                      o_at.stride[1],
                                      o_at.stride[3],
                                      lse_at.stride[0],
                                      lse_at.stride[1]};
    pack::launched("splits", tile::launch(split, split.blocks(d.B), how));
    pack::launched("reduce", tile::launch(reduce, reduce.blocks(), how));
  }
};

/// `Vec` has its bits on the gathered cache.
template <class T, const char* Vec, class R = Rules>
struct DecodeKernel : Kernel<T, R, decode::FixedSplits> {
  static constexpr pack::List<nbx_equality, 5> equalities{pack::promised("gate3.batch"), pack::promised("gate3.view"),
                                                          pack::promised("gate3.pages"), pack::promised("gate3.twin"),
                                                          pack::promised("gate3.pair", Vec)};
};

template <class T>
struct PublishedKernel : Kernel<T, Rules, decode::PublishedSplits> {
  static constexpr pack::List<nbx_equality, 4> equalities{pack::promised("gate3.batch"), pack::promised("gate3.view"),
                                                          pack::promised("gate3.pages"), pack::promised("gate3.twin")};
};

}  // namespace nbx::paged
