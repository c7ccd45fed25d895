// flash on matrix units: flash.mma and flash.m8n8k4, the program of flash with both products on a unit.
#pragma once

#include <limits>

#include "kernels/flash/kernel.hpp"
#include "kernels/tile/matrix_dot.hpp"

namespace nbx::flash {

/// What a unit reads operands as, beside the storage formats: fp32 with 10 bits of fraction, in fp32 words.
struct tf32 {};

/// x as the unit's operand: to nearest, ties to even; finite values saturate; a NaN stays one in the bits that are
/// read.
template <class Operand>
NBX_FUNCTION float operand(float x) {
  if constexpr (std::is_same_v<Operand, tf32>) {
    const std::uint32_t bits = tile::bits_of(x);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    const std::uint32_t rounded = (magnitude + 0xFFFU + ((magnitude >> 13) & 1U)) & ~0x1FFFU;
    const std::uint32_t largest = 0x7F7FE000U;
    const std::uint32_t finite = tile::select(rounded < largest, rounded, largest);
    const std::uint32_t number = tile::select(magnitude < tile::infinity_bits, finite, magnitude);
    return tile::select(tile::is_nan(x), tile::canonical_nan(), tile::float_of(number | (bits & 0x80000000U)));
  } else {
    return tile::narrow<Operand>(x);
  }
}

template <class U>
inline constexpr nbx_unit unit_code = NBX_ANY_ORDER;
template <>
inline constexpr nbx_unit unit_code<unit::M16N8K16F16> = NBX_M16N8K16_F16;
template <>
inline constexpr nbx_unit unit_code<unit::M16N8K16BF16> = NBX_M16N8K16_BF16;
template <>
inline constexpr nbx_unit unit_code<unit::M16N8K8TF32> = NBX_M16N8K8_TF32;
template <>
inline constexpr nbx_unit unit_code<unit::M16N8K32E4M3> = NBX_M16N8K32_E4M3;
template <>
inline constexpr nbx_unit unit_code<unit::M8N8K4F16> = NBX_M8N8K4_F16;

/// How the interface names a format that only operands have: a float of 19 bits.
template <class Operand>
inline constexpr DLDataType operand_type = pack::type_of<Operand>;
template <>
inline constexpr DLDataType operand_type<tf32>{kDLFloat, 19, 1};

/// The rules on unit U with operands in format `Operand`. Weights are narrowed to it before P·V; the row sum adds them
/// as they are. P·V of a tile of keys is one chain that starts from O · factor, rounded.
template <class U, class Operand>
struct MatrixRules : Rules {
  using Unit = U;
  /// A chain of groups of 8 rounds so often that its bound does not tell a dropped key in 65,536.
  static constexpr std::int64_t most_keys =
      std::is_same_v<Operand, tf32> ? 32'768 : std::numeric_limits<std::int64_t>::max();
  /// Host: refuses what these rules do not serve. Past most_keys the bound of the arithmetic no longer tells a wrong
  /// key.
  template <class R>
  static void require(const pack::Attention& a) {
    if (a.Tk > R::most_keys) {
      pack::refuse(NBX_UNSUPPORTED, "k", pack::text(a.Tk) + " keys, over which the bound sees no single one",
                   "at most " + std::to_string(R::most_keys));
    }
  }

  static void declare(nbx_arithmetic& out, std::int64_t keys, std::int64_t width) {
    Rules::declare(out, keys, width);
    for (nbx_dot* const dot : {&out.qk, &out.pv}) {
      dot->unit = unit_code<U>;
      dot->chains = 0;
      dot->operand = operand_type<Operand>;
      dot->group_keys = 0;
    }
    out.p_format = operand_type<Operand>;
  }

  static constexpr bool narrows = true;
  template <class T>
  NBX_FUNCTION static float narrowed(float weight) {
    return operand<Operand>(weight);
  }

  template <class R, class Block>
  NBX_DEVICE static void scores(Block& block, tile::Tile<float> s, tile::Tile<float> q, tile::Tile<float> k, int rows,
                                int keys, int depth) {
    if constexpr (std::is_same_v<Operand, tf32>) {
      as_operands(block, q, rows, depth);
      as_operands(block, k, depth, keys);
    }
    tile::fill(block, s, rows, keys, 0.0F);
    R::template multiply<R>(block, s, q, k, rows, keys, depth);
  }

  template <class R, class Block>
  NBX_DEVICE static void values(Block& block, tile::Tile<float> o, const float* factor, tile::Tile<float> p,
                                tile::Tile<float> v, int rows, int columns, int keys) {
    if constexpr (std::is_same_v<Operand, tf32>) as_operands(block, v, keys, columns);
    R::template rescaled<R>(block, o, factor, rows, columns);
    // 0 · NaN of a key that a row does not see would reach it through the unit.
    if (tile::any_non_finite(block, v, keys, columns)) R::add_non_finite(block, o, p, v, rows, columns, keys);
    R::template accumulate<R>(block, o, p, v, rows, columns, keys);
  }

  /// o ← o · factor.
  template <class R, class Block>
  NBX_DEVICE static void rescaled(Block& block, tile::Tile<float> o, const float* factor, int rows, int columns) {
    struct Row {
      float* at;
      float factor;
    };
    block.phase_rows(
        rows, columns,
        [=](std::int64_t r) {
          return Row{o.row(static_cast<int>(r)), factor[r]};
        },
        [](const Row& row, std::int64_t, std::int64_t c) { row.at[c] = row.at[c] * row.factor; });
  }
  template <class R, class Block>
  NBX_DEVICE static void accumulate(Block& block, tile::Tile<float> o, tile::Tile<float> p, tile::Tile<float> v,
                                    int rows, int columns, int keys) {
    R::template multiply<R>(block, o, p, v, rows, columns, keys);
  }
  template <class R, class Block>
  NBX_DEVICE static void multiply(Block& block, tile::Tile<float> sum, tile::Tile<float> a, tile::Tile<float> b,
                                  int rows, int columns, int depth) {
    tile::matrix_dot_add<typename R::Unit>(block, sum, a, b, rows, columns, depth);
  }

  /// Adds what non-finite values give to the rows that see their keys, in rising k, and puts 0 in their places. An
  /// element that gets any ends NaN or infinite whatever the unit adds to it.
  template <class Block>
  NBX_DEVICE static void add_non_finite(Block& block, tile::Tile<float> o, tile::Tile<float> p, tile::Tile<float> v,
                                        int rows, int columns, int keys) {
    block.phase_rows(
        rows, columns, [](std::int64_t r) { return static_cast<int>(r); },
        [=](int r, std::int64_t, std::int64_t column) {
          const int c = static_cast<int>(column);
          for (int k = 0; k < keys; ++k) {
            if (!tile::is_finite(v(k, c)) && tile::is_term(p(r, k))) o(r, c) = o(r, c) + p(r, k) * v(k, c);
          }
        });
    block.phase_rows(
        keys, columns, [=](std::int64_t k) { return v.row(static_cast<int>(k)); },
        [](float* row, std::int64_t, std::int64_t c) { row[c] = tile::is_finite(row[c]) ? row[c] : 0.0F; });
  }

  template <class Block>
  NBX_DEVICE static void as_operands(Block& block, tile::Tile<float> in, int rows, int columns) {
    block.phase_rows(
        rows, columns, [=](std::int64_t r) { return in.row(static_cast<int>(r)); },
        [](float* row, std::int64_t, std::int64_t c) { row[c] = operand<Operand>(row[c]); });
  }
};

/// flash.m8n8k4: Q · scale is narrowed to f16, scores are in the log2 domain, and P·V of each tile of keys starts from
/// zero and is added to O in fp32.
struct M8N8K4Rules : MatrixRules<unit::M8N8K4F16, tile::f16> {
  static constexpr std::int64_t most_keys = 32'768;  // Q · scale in f16 and 2,048 sums: see MatrixRules
  static constexpr float log2e = 0x1.715476p0F, ln2 = 0x1.62e43p-1F;

  static void declare(nbx_arithmetic& out, std::int64_t keys, std::int64_t width) {
    MatrixRules::declare(out, keys, width);
    out.pv.group_keys = static_cast<std::uint32_t>(width);
    out.scale_at = NBX_SCALE_QUERY;
    out.log2_at = NBX_EXP2_SCORE;
    out.exp_ulp = tile::exp2_ulp;
  }

  template <class R>
  static void require(const pack::Attention& a) {
    if (a.D > 256) pack::refuse(NBX_UNSUPPORTED, "q", "head dim " + pack::text(a.D), "at most 256");
    MatrixRules::require<R>(a);
  }

  static int key_width(const pack::Attention&) { return 32; }
  /// Scores that get a bias are taken to the log2 domain behind it.
  static float scale(const pack::Attention& a, int /*extra*/) { return a.bias ? 1.0F : log2e; }
  NBX_FUNCTION static float biased(float score, float bias) {
    return tile::select(bias == Max::identity, Max::identity, (score + bias) * log2e);
  }
  template <class Block>
  NBX_DEVICE static void prepare_query(Block& block, tile::Tile<float> q, int rows, int dims, float scale) {
    block.phase_rows(
        rows, dims, [=](std::int64_t r) { return q.row(static_cast<int>(r)); },
        [=](float* row, std::int64_t, std::int64_t c) { row[c] = tile::narrow<tile::f16>(row[c] * scale); });
  }
  NBX_FUNCTION static float weight(float score, float max) {
    return tile::select(score == Max::identity, tile::no_term(), tile::exp2(score - max));
  }
  NBX_FUNCTION static float rescale(float old_max, float new_max) {
    return tile::select(old_max == Max::identity, 0.0F, tile::exp2(old_max - new_max));
  }
  NBX_FUNCTION static float lse(float max, float sum) { return max * ln2 + tile::log(sum); }

  template <class R, class Block>
  NBX_DEVICE static void accumulate(Block& block, tile::Tile<float> o, tile::Tile<float> p, tile::Tile<float> v,
                                    int rows, int columns, int keys) {
    tile::matrix_dot_add<typename R::Unit, true>(block, o, p, v, rows, columns, keys);
  }
};

/// A kernel on unit U: tensors in format T, operands in format Operand.
template <class T, class U, class Operand, class R = MatrixRules<U, Operand>, template <class, class> class P = Program>
struct MatrixCommon : Common<T, R, P> {
  using Base = Common<T, R, P>;

  static void can_run(const nbx_problem& problem) {
    R::template require<R>(Base::read(problem, false));
    Base::can_run(problem);
  }
  static void check(const nbx_problem& problem, const nbx_launch* how) {
    R::template require<R>(Base::read(problem, false));
    Base::check(problem, how);
  }
  static void run(const nbx_problem& problem, const nbx_launch& how) {
    R::template require<R>(Base::read(problem, false));
    Base::run(problem, how);
  }
};

/// flash.m8n8k4.f16 without its promises.
using M8N8K4Common = MatrixCommon<tile::f16, unit::M8N8K4F16, tile::f16, M8N8K4Rules>;

/// A kernel with the promises of all: `Base` is one of the above.
template <class Base, const char* Name>
struct MatrixKernel : Base {
  static constexpr std::array<std::int64_t, 4> heights{16, 32, 64, 128};
  static constexpr pack::List<nbx_axis, 1> axes{pack::axis("block_rows", "gate3.grid", heights)};
  static constexpr pack::List<nbx_equality, 7> equalities{
      pack::promised("gate3.grid"),      pack::promised("gate3.rows"), pack::promised("gate3.batch"),
      pack::promised("gate3.view"),      pack::promised("gate3.pad"),  pack::promised("gate3.twin"),
      pack::promised("gate3.pair", Name)};
};

}  // namespace nbx::flash
