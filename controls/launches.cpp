// Kernels launched or put together wrongly: races between blocks and between items, and grids of another tile.
#include "controls/math_parts.hpp"
#include "controls/tables.hpp"
#include "kernels/softmax/tile.hpp"

namespace nbx::controls {
namespace {

/// softmax.tile with a launch of its own.
template <class T, class Launch>
struct TileLaunched : softmax::Common<TileLaunched<T, Launch>, T, false> {
  using Honest = softmax::TileKernel<T, false>;
  using Program = softmax::TileProgram<T, false, softmax::Rules>;

  static void accept(const softmax::Rows& rows) { Honest::accept(rows); }
  static int options(const nbx_launch* how) { return Honest::options(how); }
  static void launch(const softmax::Rows& rows, const nbx_launch& how) {
    Launch::template launch<T>(Program{rows, options(&how)}, how);
  }
};

/// Each block clears the row that the next one starts with.
struct ClearsAhead {
  template <class Program, class T>
  struct Racing : Program {
    template <class Block>
    NBX_DEVICE void operator()(Block& block) const {
      Program::operator()(block);
      const std::int64_t next = (block.index() + 1) * this->height;
      if (next >= this->rows.rows) return;
      T* const y = static_cast<T*>(this->rows.y) + this->rows.offsets(next).y;
      const std::int64_t step = this->rows.y_step;
      block.phase(this->rows.features, [=](std::int64_t c) { y[c * step] = tile::encode<T>(0.0F); });
    }
  };

  template <class T, class Program>
  static void launch(const Program& program, const nbx_launch& how) {
    const Racing<Program, T> racing{program};
    pack::launched("softmax.tile", tile::launch(racing, racing.blocks(), how));
  }
};

/// Blocks of three rows or more are counted as if each held eight.
struct GridOfEight {
  template <class T, class Program>
  static void launch(const Program& program, const nbx_launch& how) {
    const int counted = program.height < 3 ? program.height : 8;
    pack::launched("softmax.tile", tile::launch(program, tile::ceil_div(program.rows.rows, counted), how));
  }
};

/// One item writes a factor of 1 where the score of key 0 lay, the others of the same phase read it there.
template <class T, class R>
struct NoBarrier : math::Stages<T, R> {
  struct Weights : math::WeightStage<T, R> {
    template <class Block>
    NBX_DEVICE void operator()(Block& block) const {
      math::WeightStage<T, R>::operator()(block);
      float* const factor = this->a.scores + block.index() * this->a.Tk;
      T* const weights = this->a.weights + block.index() * this->a.Tk;
      block.phase(this->a.Tk + 1, [=](std::int64_t i) {
        if (i == 0) {
          *factor = 1.0F;
        } else {
          weights[i - 1] = tile::encode<T>(tile::decode(weights[i - 1]) * *factor);
        }
      });
    }
  };
};

using namespace kernels;

constexpr Mutation rows[] = {
    {.name = "clears_the_next_row",
     .planted = "each block clears the row that the next one starts with: right only where the next one runs later",
     .red_at = {"gate2.order"},
     .problems = {"shape=64x63,axis=-1,normal"},
     .on = {in_place_of<TileLaunched<float, ClearsAhead>>(softmax_tile_f32),
            in_place_of<TileLaunched<tile::bf16, ClearsAhead>>(softmax_tile_bf16)}},
    {.name = "barrier_missing",
     .planted = "items of one phase read what another of them writes",
     .red_at = {"gate2.order"},
     .problems = {"B=1,H=3,Hk=1,Tq=7,Tk=63,D=72,normal"},
     .on = {in_math<float, math::Rules, NoBarrier>(), in_chunked<tile::f16, math::Rules, NoBarrier>()}},
    {.name = "grid_of_another_tile",
     .planted = "the grid of blocks of three rows is counted for blocks of eight",
     .red_at = {"gate1.reference", "gate3.grid"},
     .problems = {"shape=64x63,axis=-1,normal"},
     .on = {in_place_of<TileLaunched<tile::f16, GridOfEight>>(softmax_tile_f16)}},
};

}  // namespace

std::span<const Mutation> launches() { return rows; }

}  // namespace nbx::controls
