// Rows-first attention: the partials of every chunk of every row, and their merge.
#pragma once

#include "kernels/decode/kernel.hpp"
#include "kernels/q35/problem.hpp"

namespace nbx::q35 {

struct Rules : decode::Rules {
  /// Keys of a chunk of a row that sees `limit` keys.
  NBX_FUNCTION static std::int64_t width(std::int64_t limit) { return chunk_width(limit); }
  /// The scale of scores of a KV head.
  NBX_FUNCTION static float score_scale(float scale, const float* k_scale, std::int64_t head, std::int64_t step) {
    return scale * k_scale[head * step];
  }
  NBX_FUNCTION static float value_scale(const float* v_scale, std::int64_t head, std::int64_t step) {
    return v_scale[head * step];
  }
};

/// The merge that the described system shipped: a chunk counts if its sum is above 0, which a NaN is not, and its
/// maximum passes over NaN.
struct PublishedRules : Rules {
  struct Max {
    static constexpr float identity = decode::Rules::Max::identity;
    NBX_FUNCTION static float combine(float a, float b) {
      if (a == identity || tile::is_nan(a)) return b == identity ? a : b;
      return b > a ? b : a;
    }
  };
  NBX_FUNCTION static float share(float chunk_max, float chunk_sum, float max) {
    return tile::select(chunk_sum > 0.0F, tile::exp(chunk_max - max), tile::no_term());
  }
};

/// A block is (row, KV head, chunk) with the whole GQA group. Rows first: blocks that follow each other are rows of one
/// chunk, which read the same keys. Chunks first: chunks of one row. The same blocks, so the same bits.
template <class T, class R>
struct PartialProgram {
  std::int64_t first_row, rows, H, Hk, capacity, streams, chunks, group, most_width;
  bool chunks_first;
  float scale;
  const tile::bf16* q;
  const T *k, *v;
  const float *k_scale, *v_scale;  // null: none
  const std::int32_t *stream, *limit;
  pack::Layout<3> q_at, pm_at, pl_at;
  pack::Layout<4> k_at, v_at, po_at;
  std::int64_t k_scale_step, v_scale_step, stream_step, limit_step;
  float *pm, *pl, *po;
  bool clear;  // a chunk without keys writes zeros

  std::int64_t blocks() const { return rows * Hk * chunks; }
  std::size_t tile_bytes() const {
    return decode::segment_bytes(static_cast<int>(group), static_cast<int>(most_width), head_dim, head_dim);
  }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t index = block.index();
    const std::int64_t kv_head = chunks_first ? index / chunks % Hk : index / rows % Hk;
    const std::int64_t chunk = chunks_first ? index % chunks : index / rows / Hk;
    const std::int64_t row = first_row + (chunks_first ? index / chunks / Hk : index % rows);

    std::int64_t keys = limit[row * limit_step], of_stream = stream[row * stream_step];
    keys = keys < 0 ? 0 : (keys < capacity ? keys : capacity);
    of_stream = of_stream < 0 || of_stream >= streams ? 0 : of_stream;
    const std::int64_t width = R::width(keys), first = chunk * width;
    decode::SegmentSizes of{};
    of.heads = static_cast<int>(group), of.width = static_cast<int>(most_width);
    of.keys = static_cast<int>(R::keys(keys, first, width));
    of.depth = head_dim, of.columns = head_dim;
    of.q_step = q_at.stride[2], of.k_step = k_at.stride[3], of.v_step = v_at.stride[3];
    of.score_scale = k_scale == nullptr ? scale : R::score_scale(scale, k_scale, kv_head, k_scale_step);
    of.scales_values = v_scale != nullptr;
    of.value_scale = v_scale == nullptr ? 1.0F : R::value_scale(v_scale, kv_head, v_scale_step);

    const std::int64_t head = R::head(kv_head, 0, group);
    const std::int64_t between = group > 1 ? R::head(kv_head, 1, group) - head : 0;
    const decode::Partials to{pm + row * pm_at.stride[0] + head * pm_at.stride[1] + chunk * pm_at.stride[2],
                              pl + row * pl_at.stride[0] + head * pl_at.stride[1] + chunk * pl_at.stride[2],
                              po + row * po_at.stride[0] + head * po_at.stride[1] + chunk * po_at.stride[2],
                              between * pm_at.stride[1],
                              between * pl_at.stride[1],
                              between * po_at.stride[1],
                              po_at.stride[3]};
    const tile::bf16* const q_row = q + row * q_at.stride[0] + head * q_at.stride[1];
    const std::int64_t q_between = between * q_at.stride[1];
    const T* const k_row = k + of_stream * k_at.stride[0] + kv_head * k_at.stride[1] + first * k_at.stride[2];
    const T* const v_row = v + of_stream * v_at.stride[0] + kv_head * v_at.stride[1] + first * v_at.stride[2];
    const std::int64_t k_between = k_at.stride[2], v_between = v_at.stride[2];
    decode::segment_partials<R, tile::bf16>(
        block, of, to, clear, [=](std::int64_t g) { return q_row + g * q_between; },
        [=](std::int64_t j) { return k_row + j * k_between; }, [=](std::int64_t j) { return v_row + j * v_between; },
        decode::NoBias{});
  }
};

/// What the kernels of the family share. Merged: gives o, else the partials.
template <class T, class R, class MergeRules, bool merged>
struct Kernel {
  static constexpr const char* family = "q35";
  static constexpr DLDataType format = pack::type_of<T>;
  static constexpr std::int64_t slab_rows = 65'535;  // of a launch with chunks first

  static constexpr std::array<std::int64_t, 2> order_values{0, 1};
  static constexpr pack::List<nbx_axis, 1> axes{pack::axis("chunks_first", "gate3.grid", order_values)};
  static constexpr pack::List<nbx_equality, 4> equalities{pack::promised("gate3.rows"), pack::promised("gate3.batch"),
                                                          pack::promised("gate3.view"), pack::promised("gate3.twin")};

  static Problem read(const nbx_problem& problem, bool with_data) {
    return q35::read(problem, {format, tile::device, !merged}, with_data);
  }
  static bool chunks_first(const nbx_launch* how) {
    return pack::Options(how, {"chunks_first"}).integer("chunks_first", 0, 0, 1) != 0;
  }
  static decode::Workspace place(const Problem& p) { return decode::workspace(p.rows * p.H, p.chunks, head_dim); }

  static void can_run(const nbx_problem& problem) { read(problem, false); }
  static nbx_arithmetic arithmetic(const nbx_problem& problem) {
    const Problem p = read(problem, false);
    const std::int64_t width = std::min(chunk_width(p.capacity), std::max<std::int64_t>(p.capacity, 1));
    return decode::arithmetic(p.capacity, {merged ? p.chunks : 1, width}, p.v_scale.has_value());
  }
  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch* how) {
    const Problem p = read(problem, false);
    chunks_first(how);
    return merged ? place(p).bytes : 0;
  }
  static void check(const nbx_problem& problem, const nbx_launch* how) {
    const Problem p = read(problem, true);
    chunks_first(how);
    if (merged && how != nullptr) pack::require_workspace(*how, place(p).bytes);
    require_tables(p, tile::read_table(p.stream, how).data(), tile::read_table(p.limit, how).data());
  }

  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const Problem p = read(problem, true);
    PartialProgram<T, R> partial{};
    partial.H = p.H, partial.Hk = p.Hk, partial.capacity = p.capacity, partial.streams = p.streams;
    partial.chunks = p.chunks, partial.group = p.group();
    partial.most_width = std::min(chunk_width(p.capacity), std::max<std::int64_t>(p.capacity, 1));
    partial.chunks_first = chunks_first(&how);
    partial.scale = 0.0625F;  // 1 / sqrt(256)
    partial.q = p.q.as<const tile::bf16>(), partial.k = p.k.as<const T>(), partial.v = p.v.as<const T>();
    partial.stream = p.stream.as<const std::int32_t>(), partial.limit = p.limit.as<const std::int32_t>();
    partial.q_at = pack::layout<3>(p.q), partial.k_at = pack::layout<4>(p.k), partial.v_at = pack::layout<4>(p.v);
    partial.stream_step = pack::layout<1>(p.stream).stride[0], partial.limit_step = pack::layout<1>(p.limit).stride[0];
    if (p.k_scale) {
      partial.k_scale = p.k_scale->as<const float>(), partial.v_scale = p.v_scale->as<const float>();
      partial.k_scale_step = pack::layout<1>(*p.k_scale).stride[0];
      partial.v_scale_step = pack::layout<1>(*p.v_scale).stride[0];
    }
    if constexpr (merged) {
      const decode::Workspace at = place(p);
      std::byte* const memory = pack::require_workspace(how, at.bytes);
      partial.pm = reinterpret_cast<float*>(memory);
      partial.pl = reinterpret_cast<float*>(memory + at.l);
      partial.po = reinterpret_cast<float*>(memory + at.o);
      partial.pm_at = partial.pl_at = {{p.H * p.chunks, p.chunks, 1}};
      partial.po_at = {{p.H * p.chunks * head_dim, p.chunks * head_dim, head_dim, 1}};
    } else {
      partial.pm = p.pm->as<float>(), partial.pl = p.pl->as<float>(), partial.po = p.po->as<float>();
      partial.pm_at = pack::layout<3>(*p.pm), partial.pl_at = pack::layout<3>(*p.pl);
      partial.po_at = pack::layout<4>(*p.po);
      partial.clear = true;
    }
    const std::int64_t slab = partial.chunks_first ? slab_rows : std::max<std::int64_t>(p.rows, 1);
    for (std::int64_t first = 0; first < p.rows; first += slab) {
      partial.first_row = first;
      partial.rows = std::min(slab, p.rows - first);
      pack::launched("partials", tile::launch(partial, partial.blocks(), how));
    }
    if constexpr (merged) {
      const pack::Layout<3> o_at = pack::layout<3>(*p.o);
      const decode::Reduce<tile::bf16, MergeRules> merge{partial.pm,
                                                         partial.pl,
                                                         partial.po,
                                                         p.rows * p.H,
                                                         p.chunks,
                                                         head_dim,
                                                         p.o->template as<tile::bf16>(),
                                                         nullptr,
                                                         p.H,
                                                         o_at.stride[0],
                                                         o_at.stride[1],
                                                         o_at.stride[2],
                                                         0,
                                                         0};
      pack::launched("merge", tile::launch(merge, merge.blocks(), how));
    }
  }
};

/// q35.partial: pm, pl and po of every chunk.
template <class T, class R = Rules>
struct PartialKernel : Kernel<T, R, Rules, false> {
  static constexpr std::array<const char*, 3> optional_outputs{"pm", "pl", "po"};
};

/// q35.merge: partials and their merge as one call. Merge: the rules of the merge.
template <class T, class R = Rules, class Merge = R>
struct MergeKernel : Kernel<T, R, Merge, true> {
  static constexpr std::array<const char*, 1> optional_outputs{"o"};
};

}  // namespace nbx::q35
