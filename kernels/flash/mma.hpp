// flash.mma on operands of 16 bits: weights relative to a whole shift (whole.hpp), O · (1 / l). On the device calls
// with dense rows go to the form in registers (register_form.hpp), which gives the bits of the program here.
#pragma once

#include "kernels/flash/marked_blocks.hpp"
#include "kernels/flash/matrix.hpp"
#include "kernels/flash/register_form.hpp"
#include "kernels/flash/whole.hpp"

namespace nbx::flash {

/// `max` of a row is M, −inf while every score is. Row sums are four chains t: of each tile of keys the pairs 8n + 2t,
/// 8n + 2t + 1, added to one another and then in rising n; l_t ← l_t · factor + that; l = (l_0 + l_1) + (l_2 + l_3).
template <class U, class Operand>
struct WholeRules : MatrixRules<U, Operand> {
  using Base = MatrixRules<U, Operand>;
  static constexpr int chains = 4;
  static constexpr int row_values = 4 + chains;

  static void declare(nbx_arithmetic& out, std::int64_t keys, std::int64_t width) {
    Base::declare(out, keys, width);
    out.log2_at = NBX_EXP2_WHOLE;
    out.normalise = NBX_RECIPROCAL_OUTPUT;
    out.exp_ulp = weight_ulp;
    out.sum_depth = tile::ceil_div(std::min(keys, width), 8) + out.rescales + 2;
  }

  static float scale(const pack::Attention& a, int /*extra*/) { return Exponents::of(a.scale).before; }
  template <class R>
  NBX_FUNCTION static float with_bias(float score, float bias, float query_scale) {
    return Exponents::of(query_scale).biased(score, bias);
  }
  NBX_FUNCTION static float shift(float max) { return shift_of(max); }
  NBX_FUNCTION static float rescale(float old_max, float new_max) {
    return whole_rescale(shift_of(old_max), shift_of(new_max));
  }
  NBX_FUNCTION static float running_sum(float before, float factor, float tile) { return before * factor + tile; }

  NBX_DEVICE static void begin(const RowState& row, std::int64_t r) {
    for (int t = 0; t < chains; ++t) row.more(t)[r] = 0.0F;
  }

  template <class R, class Block>
  NBX_DEVICE static void weigh(Block& block, float query_scale, const RowState& row, tile::Tile<float> s, int rows,
                               int keys) {
    const Exponents by = Exponents::of(query_scale);
    block.phase(rows, [=](std::int64_t r) {
      const float* const score = s.row(static_cast<int>(r));
      const float before = row.max[r];
      const float of_tile = tile::fold<typename R::Max, R::fold_width>(keys, [=](int j) { return score[j]; });
      const float max = R::template running_max<typename R::Max>(before, whole_above(of_tile, by.c));
      row.max[r] = max;
      row.shift[r] = R::shift(max);
      row.factor[r] = R::rescale(before, max);
    });
    struct Row {
      float* score;
      float shift;
      WholeShift whole;
      bool far;
    };
    block.phase_rows(
        rows, keys,
        [=](std::int64_t r) {
          return Row{s.row(static_cast<int>(r)), row.shift[r], WholeShift::of(row.shift[r], by), is_far(row.shift[r])};
        },
        [by](const Row& at, std::int64_t, std::int64_t j) {
          const float score = at.score[j];
          const float weight = at.far ? far_weight(score, at.shift, by.c) : near_weight(score, at.whole, by.c);
          at.score[j] = tile::select(score == R::Max::identity, tile::no_term(), weight);
        });
    block.phase(static_cast<std::int64_t>(rows) * chains, [=](std::int64_t i) {
      const std::int64_t r = i / chains;
      const int t = static_cast<int>(i % chains);
      const float* const weight = s.row(static_cast<int>(r));
      float of_tile = 0.0F;
      for (int j = 2 * t; j < keys; j += 2 * chains)
        of_tile = of_tile + (weight[j] + (j + 1 < keys ? weight[j + 1] : 0.0F));
      row.more(t)[r] = R::running_sum(row.more(t)[r], row.factor[r], of_tile);
    });
  }

  template <class Block>
  NBX_DEVICE static void finish(Block& block, const RowState& row, int rows) {
    block.phase(rows, [=](std::int64_t r) {
      row.sum[r] = (row.more(0)[r] + row.more(1)[r]) + (row.more(2)[r] + row.more(3)[r]);
    });
  }

  template <class T, class A>
  NBX_FUNCTION static T normalised(const A&, float o, float max, float sum) {
    return tile::encode<T>(tile::settle(tile::select(Base::is_empty(max), 0.0F, o * tile::divide(1.0F, sum))));
  }
  NBX_FUNCTION static float lse(float max, float sum) { return max * ln_2 + tile::log(sum); }
};

/// flash.mma of tensors in format T on unit U, without its promises.
template <class T, class U, class R = WholeRules<U, T>>
struct MmaCommon : MatrixCommon<T, U, T, R> {
  using Matrix = MatrixCommon<T, U, T, R>;

#if defined(__CUDACC__)
  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Attention a = Matrix::read(problem, false);
    return in_registers(a, Options(how)) ? pack::round_up(mark_count(a) * sizeof(std::uint32_t)) : 0;
  }

  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const pack::Attention a = Matrix::read(problem, true);
    const Options options(&how);
    if (!in_registers(a, options)) return Matrix::run(problem, how);
    const std::uint64_t bytes = workspace_bytes(problem, &how);
    auto* const marks = reinterpret_cast<std::uint32_t*>(pack::require_workspace(how, bytes));
    const Program<T, R> again = Matrix::program_of(a, options);
    if (!aligned(again.a)) return Matrix::run(problem, how);
    const auto tiles = static_cast<unsigned>(tile::ceil_div(a.Tq, register_rows));
    const RegisterProblem<T> now{again.a, Exponents::of(a.scale), marks, tiles};
    const auto blocks = static_cast<unsigned>(mark_count(a));
    if (blocks == 0) return;
    pack::launched("flash", std::max(a.D, a.Dv) <= 64 ? launch_register_form<U, T, 64>(now, blocks, how.stream)
                                                      : launch_register_form<U, T, 128>(now, blocks, how.stream));
    const MarkedBlocks of{again.blocks(), again.query_tiles(), tiles, again.height, register_rows};
    pack::launched("flash", launch_marked(again, marks, of, how.stream));
  }

  static std::string explain(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Attention a = Matrix::read(problem, false);
    return (in_registers(a, Options(how)) ? "in registers, 128 queries a block, where pointers are aligned to 16; else "
                                          : "") +
           Matrix::explain(problem, how);
  }

 protected:
  static std::uint64_t mark_count(const pack::Attention& a) {
    return static_cast<std::uint64_t>(a.B * a.H * tile::ceil_div(a.Tq, register_rows));
  }

  /// Rows of q, k, v and o are dense, of whole pieces of 16 bytes, and start at such; nothing is added to scores, more
  /// than 16 queries, and what the tile rules, the device and 32-bit places allow.
  static bool in_registers(const pack::Attention& a, const Options& options) {
    const auto whole = [](std::int64_t n) { return n % 8 == 0; };
    bool dense = whole(a.D) && whole(a.Dv) && a.D <= 128 && a.Dv <= 128;
    for (const pack::Tensor* tensor : {&a.q, &a.k, &a.v, &a.o}) {
      const pack::Layout<4> at = pack::layout<4>(*tensor);
      dense = dense && at.stride[3] == 1 && whole(at.stride[0]) && whole(at.stride[1]) && whole(at.stride[2]);
    }
    constexpr std::int64_t most = std::int64_t{1} << 30;
    int device = 0, shared = 0;
    const bool fits = cudaGetDevice(&device) == cudaSuccess &&
                      cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess &&
                      shared >= register_bytes<128>;
    return dense && fits && !a.bias && Exponents::of(a.scale).before == 1.0F && a.Tq > height_floor && a.Tq < most &&
           a.Tk < most && a.B * a.H < most && mark_count(a) < most && options.block_rows == 0 &&
           (options.ceiling == 0 || options.ceiling >= register_rows);
  }

  static bool aligned(const Operands<T>& a) {
    const auto at_piece = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; };
    return at_piece(a.q) && at_piece(a.k) && at_piece(a.v) && at_piece(a.o);
  }
#endif
};

}  // namespace nbx::flash
