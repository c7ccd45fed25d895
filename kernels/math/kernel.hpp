// math and chunked: the three stages over query rows, all at once or chunk by chunk.
#pragma once

#include <algorithm>

#include "kernels/math/operands.hpp"
#include "kernels/math/scores.hpp"
#include "kernels/math/values.hpp"
#include "kernels/math/weights.hpp"
#include "kernels/pack/buffers.hpp"
#include "kernels/pack/entries.hpp"

namespace nbx::math {

/// The stages of one kind of math. A variant that replaces a whole stage gives another set.
template <class T, class R>
struct Stages {
  using Scores = ScoreStage<T, R>;
  using Weights = WeightStage<T, R>;
  using Values = ValueStage<T, R>;
};

inline constexpr std::int64_t default_block_rows = 64;

/// The two buffers of a chunk, in bytes. The next chunk has the same.
struct ChunkBytes {
  std::uint64_t scores, weights;

  std::uint64_t workspace() const { return pack::round_up(scores) + weights; }
};

template <class T>
ChunkBytes chunk_bytes(const pack::Attention& a, std::int64_t rows) {
  const std::uint64_t scores = pack::product("scores", {a.B, a.H, rows, a.Tk, sizeof(float)});
  return {scores, scores / sizeof(float) * sizeof(T)};
}

/// "attention of q [1, 2, 70, 64], k [1, 2, 70, 64] and v [1, 2, 70, 64] by 32 rows from row 0 on, on device type 1".
inline std::string running(const pack::Attention& a, std::int64_t rows) {
  return "attention of q " + pack::text(a.q.shape, 4) + ", k " + pack::text(a.k.shape, 4) + " and v " +
         pack::text(a.v.shape, 4) + " by " + pack::text(rows) + " rows from row 0 on, on device type " +
         std::to_string(static_cast<int>(tile::device));
}

/// Computes all query rows, `height` at a time.
template <class T, class R, template <class, class> class S>
void compute(const pack::Attention& a, const nbx_launch& how, std::int64_t height, std::int64_t block_rows) {
  const ChunkBytes bytes = chunk_bytes<T>(a, height);
  pack::Buffers buffers(how, bytes.workspace(), running(a, height));
  Arguments<T> chunk{};
  take_operands<R, T>(a, chunk);
  chunk.scores = buffers.take<float>("scores", bytes.scores);
  chunk.weights = buffers.take<T>("weights", bytes.weights);
  for (chunk.first = 0; chunk.first < a.Tq; chunk.first += height) {
    chunk.rows = R::chunk_rows(chunk.first, height, a.Tq);
    const int tile_rows = static_cast<int>(std::max<std::int64_t>(1, std::min(block_rows, chunk.group * chunk.rows)));
    const typename S<T, R>::Scores scores{chunk, tile_rows};
    const typename S<T, R>::Weights weights{chunk};
    const typename S<T, R>::Values values{chunk, tile_rows};
    pack::launched("scores", tile::launch(scores, scores.blocks(), how));
    pack::launched("weights", tile::launch(weights, weights.blocks(), how));
    pack::launched("values", tile::launch(values, values.blocks(), how));
  }
}

/// What math and chunked share. `Kernel` gives height(launch, Tq): the rows of a chunk.
template <class Kernel, class T, class R, template <class, class> class S>
struct Common {
  static constexpr const char* family = "attention";
  static constexpr DLDataType format = pack::type_of<T>;

  static pack::Attention read(const nbx_problem& problem, bool with_data) {
    return pack::read_attention(problem, {format, tile::device, R::gives_lse}, with_data);
  }

  static void can_run(const nbx_problem& problem) { read(problem, false); }

  static nbx_arithmetic arithmetic(const nbx_problem& problem) {
    const pack::Attention a = read(problem, false);
    nbx_arithmetic out = pack::tile_arithmetic();
    out.scale_at = NBX_SCALE_SCORE;
    out.log2_at = NBX_EXP_NATURAL;
    out.normalise = NBX_DIVIDE_WEIGHTS;
    out.masked_value = R::masked_value;
    out.p_format = format;
    out.sum_depth = tile::sum_depth(a.Tk);
    return out;
  }

  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Attention a = read(problem, false);
    return chunk_bytes<T>(a, Kernel::height(how, a.Tq)).workspace();
  }

  static void check(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Attention a = read(problem, true);
    const std::int64_t height = Kernel::height(how, a.Tq);
    block_rows(how);
    if (how != nullptr && how->allocator == nullptr) {
      pack::require_workspace(*how, chunk_bytes<T>(a, height).workspace());
    }
  }

  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const pack::Attention a = read(problem, true);
    compute<T, R, S>(a, how, Kernel::height(&how, a.Tq), block_rows(&how));
  }

  /// Scores and weights, each the size of a chunk's scores. Masks and operands are read by their strides and O is
  /// written in place, so nothing else is made, and every chunk is as dear as the first.
  static nbx_cost cost(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Attention a = read(problem, false);
    const ChunkBytes bytes = chunk_bytes<T>(a, Kernel::height(how, a.Tq));
    nbx_cost out{};
    pack::declare_nested(out, {{"scores", bytes.scores}, {"weights", bytes.weights}});
    out.returned_bytes = pack::product("o", {a.B, a.H, a.Tq, a.Dv, sizeof(T)});
    if (a.lse) out.returned_bytes += pack::product("lse", {a.B, a.H, a.Tq, sizeof(float)});
    out.operations = pack::product("operations", {2, a.B, a.H, a.Tq, a.Tk, a.D + a.Dv});
    return out;
  }

  static std::int64_t block_rows(const nbx_launch* how) {
    return Kernel::options(how).integer("block_rows", default_block_rows, 1, 128);
  }
};

}  // namespace nbx::math
