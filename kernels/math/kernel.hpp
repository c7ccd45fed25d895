// math and chunked: the three stages over query rows, all at once or chunk by chunk.
#pragma once

#include <algorithm>

#include "kernels/math/operands.hpp"
#include "kernels/math/scores.hpp"
#include "kernels/math/values.hpp"
#include "kernels/math/weights.hpp"
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

/// Where a chunk's buffers lie in the workspace.
struct Workspace {
  std::uint64_t weights, bytes;  // scores lie at 0
};

template <class T>
Workspace workspace(const pack::Attention& a, std::int64_t rows) {
  const std::uint64_t elements = pack::product("scores", {a.B, a.H, rows, a.Tk, sizeof(float)}) / sizeof(float);
  const std::uint64_t weights = pack::round_up(elements * sizeof(float));
  return {weights, weights + elements * sizeof(T)};
}

/// Computes all query rows, `height` at a time.
template <class T, class R, template <class, class> class S>
void compute(const pack::Attention& a, const nbx_launch& how, std::int64_t height, std::int64_t block_rows) {
  const Workspace place = workspace<T>(a, height);
  std::byte* const memory = pack::require_workspace(how, place.bytes);
  Arguments<T> chunk{};
  take_operands<R, T>(a, chunk);
  chunk.scores = reinterpret_cast<float*>(memory);
  chunk.weights = reinterpret_cast<T*>(memory + place.weights);
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
    return workspace<T>(a, Kernel::height(how, a.Tq)).bytes;
  }

  static void check(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Attention a = read(problem, true);
    const std::int64_t height = Kernel::height(how, a.Tq);
    block_rows(how);
    if (how != nullptr) pack::require_workspace(*how, workspace<T>(a, height).bytes);
  }

  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const pack::Attention a = read(problem, true);
    compute<T, R, S>(a, how, Kernel::height(&how, a.Tq), block_rows(&how));
  }

  static std::int64_t block_rows(const nbx_launch* how) {
    return Kernel::options(how).integer("block_rows", default_block_rows, 1, 128);
  }
};

}  // namespace nbx::math
