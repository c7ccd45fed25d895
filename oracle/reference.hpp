// The certified reference: for each element of each output the set of right answers, and how far a kernel of a given
// arithmetic may stray from it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "oracle/arithmetic.hpp"
#include "oracle/view.hpp"

namespace nbx::oracle {

/// Which classes of value an element may have. Several at once where the definition or the arithmetic leaves it open.
enum Class : std::uint8_t {
  finite = 1,  // within radius and bound of the value
  not_a_number = 2,
  plus_infinity = 4,
  minus_infinity = 8,
  exact_plus_zero = 16,  // the bits of +0 (fully masked rows)
};

/// One output of the definition over exact inputs. value ± radius holds the exact answer wherever `classes` has finite.
struct Expected {
  std::vector<double> value, radius;
  std::vector<std::uint8_t> classes;
};

/// How far each element of one output may be from the exact answer under one arithmetic. `open` marks the elements
/// where a step of that arithmetic may overflow ("overflow-open"); `classes` replaces Expected::classes there.
struct Bounds {
  std::vector<double> bound;
  std::vector<std::uint8_t> classes;
  std::vector<std::uint8_t> open;
};

/// Where an element's bound comes from; the parts add up to the bound.
struct BoundParts {
  double scores = 0, weights = 0, sum = 0, accumulation = 0, output = 0;
};

struct Evaluation {
  struct Output {
    std::string name;  // "y"; "o", "lse"
    std::vector<std::int64_t> shape;
    Expected expected;
    std::vector<Bounds> bounds;  // one per arithmetic, in the order given
  };
  std::vector<Output> outputs;
};

enum class Causal : std::uint8_t { none, top_left, bottom_right };

/// softmax or log-softmax along `axis` of x. A row of -inf alone is NaN; so is a row with a NaN or a +inf.
struct SoftmaxInput {
  View x;
  int axis = -1;
  bool log = false;
};

/// Operands that are stored narrower than they stand here: q, k and v are fp32 products of elements of `format` and a
/// scale for each head, exactly. Kernels multiply the elements and scale scores and o. The largest of those factors:
struct StoredOperands {
  Format format;
  double of_scores = 1, of_values = 1;
};

/// q [B, H, Tq, D], k [B, Hk, Tk, D], v [B, Hk, Tk, Dv]; bias broadcast from [1|B, 1|H, 1|Tq, 1|Tk].
/// o [B, H, Tq, Dv], lse [B, H, Tq] in natural logarithm.
struct AttentionInput {
  View q, k, v;
  std::optional<View> bias;
  Causal causal = Causal::none;
  std::optional<float> scale;         // exact; absent: fp32(1/sqrt(D))
  std::vector<std::int64_t> lengths;  // keys beyond are hidden: per batch entry, or per query row (b · Tq + i); empty:
                                      // all Tk
  bool base_two = false;              // weights are 2^score in place of e^score. The LSE stays a natural logarithm
  /// Per row ((b·H + h)·Tq + i), where base_two: the exponent that kernels of a fixed shift subtract, to within
  /// fixed_shift_margin; NaN: they keep a running maximum. Empty: NaN for all. Bounds follow it, values do not.
  std::vector<double> fixed_shift{};
  std::optional<StoredOperands> stored{};
};

/// Half for the rounding of a centred shift, and one for a ⌈U⌉ of norms that were rounded upward.
inline constexpr double fixed_shift_margin = 1.5;

/// Values with radii for every element, and bounds for each of `arithmetics`, computed in one pass.
/// Arithmetics of one call must agree in masked_value.
Evaluation evaluate(const SoftmaxInput& input, std::span<const Arithmetic> arithmetics);
Evaluation evaluate(const AttentionInput& input, std::span<const Arithmetic> arithmetics);

/// One element again with at least `bits` of precision: Ziv's way. 106 is double-double, the rest multiprecision.
/// Radii shrink accordingly. `output` indexes Evaluation::outputs.
struct Refined {
  double value, radius;  // value is the nearest double; radius covers that rounding too
  // value + low ± low_radius holds the exact answer as well, to 106 bits and more. 0 ± where it is proven exact.
  double low = 0, low_radius = std::numeric_limits<double>::infinity();
};
using Refine = std::function<Refined(std::size_t output, std::int64_t element, int bits)>;
Refine refiner(const SoftmaxInput& input);
Refine refiner(const AttentionInput& input);

/// The parts of one element's bound, for the explanation of a red.
BoundParts bound_parts(const SoftmaxInput& input, const Arithmetic& arithmetic, std::size_t output,
                       std::int64_t element);
BoundParts bound_parts(const AttentionInput& input, const Arithmetic& arithmetic, std::size_t output,
                       std::int64_t element);

/// The scores of one row of attention (row = (b·H + h)·Tq + i), NaN at hidden positions; for explanations.
std::vector<double> scores_of_row(const AttentionInput& input, std::int64_t row);

}  // namespace nbx::oracle
