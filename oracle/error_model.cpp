#include "oracle/error_model.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "oracle/exp.hpp"

namespace nbx::oracle {
namespace {

constexpr double kU = 0x1p-24;  // unit roundoff of fp32
constexpr double kUnitDouble = 0x1p-53;
constexpr double kLargest = 0x1.fffffep127;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
// Relative errors of the fp32 constants, rounded up: |fp32(log2 e) / log2 e - 1|, |fp32(ln 2) / ln 2 - 1|.
constexpr double kLog2eError = 1.3352e-8;
constexpr double kLn2Error = 2.7506e-9;

bool is_power_of_two(double x) {
  int e = 0;
  return std::frexp(std::fabs(x), &e) == 0.5;
}

// Profiles are kept above this share of their largest entry, so that one A serves the double evaluation as well.
constexpr double kLeastProfile = 0.125;

// error = sum of coefficients; one more rounded operation on a value that is at most (value |s| + bias |bias|).
void round_scores(ErrorModel& m, double u, double value, double bias, double absolute) {
  for (double* c : {&m.score_terms, &m.score_value, &m.score_bias, &m.score_absolute, &m.score_key, &m.score_query,
                    &m.score_largest}) {
    *c *= 1 + u;
  }
  m.score_value += u * value;
  m.score_bias += u * bias;
  m.score_absolute += absolute;
}

// Relative error of each term d of q·k behind narrowing and the unit, split into score_terms and a profile.
void set_profile(ErrorModel& m, const DotError& dot, std::int64_t terms, double operands) {
  m.profile.resize(terms);
  m.score_terms = 0;
  for (std::int64_t d = 0; d < terms; ++d) {
    m.profile[d] = compose(operands, dot.growth[dot.uniform ? terms : terms - d]);
    m.score_terms = std::fmax(m.score_terms, m.profile[d]);
  }
  for (double& weight : m.profile) weight = m.score_terms > 0 ? std::fmax(weight / m.score_terms, kLeastProfile) : 1;
}

// Narrowing of an operand of the input. Stored ones are multiplied as they are stored.
Narrowing of_operands(const AttentionShape& shape, Format from, const OperandRange& range, Format operand,
                      std::optional<double> scale, bool flush_to_zero) {
  if (!shape.input->stored) return narrowing(from, range, operand, scale, flush_to_zero);
  if (scale || !contains(operand, shape.input->stored->format)) {
    throw std::invalid_argument("stored operands go to their unit as they are");
  }
  return {};
}

void set_scores(ErrorModel& m, const Arithmetic& a, const AttentionShape& shape, const OperandRange& q,
                const OperandRange& k) {
  const double scale = std::fabs(shape.scale);
  const bool at_query = a.scale_at == Arithmetic::ScaleAt::query;
  const bool whole = a.log2_at == Arithmetic::Log2At::whole;
  const double product = a.flush_to_zero ? 0x1p-126 : 0x1p-150;
  const double sum = a.flush_to_zero ? 0x1p-126 : 0;
  const auto terms = static_cast<double>(shape.D);
  const Narrowing of_q = of_operands(shape, shape.input->q.format, q, a.qk.operand,
                                     at_query ? std::optional(scale) : std::nullopt, a.flush_to_zero);
  const Narrowing of_k = of_operands(shape, shape.input->k.format, k, a.qk.operand, std::nullopt, a.flush_to_zero);
  const DotError dot = dot_error(a.qk, shape.D, 0, a.flush_to_zero);
  set_profile(m, dot, shape.D, compose(of_q.relative, of_k.relative));
  // Narrowed operands q' = q(1 + ..) + aq, k' likewise; (1 + growth) bounds what the unit makes of aq k and so on.
  const double growth = 1 + dot.growth[shape.D];
  const double query_scale = at_query ? scale : 1;
  m.score_key = terms * growth * of_q.absolute * (1 + of_k.relative);
  m.score_query = terms * growth * of_k.absolute * (1 + of_q.relative) * query_scale;
  const double of_unit = shape.input->stored ? shape.input->stored->of_scores : 1;
  m.score_absolute = terms * (growth * of_q.absolute * of_k.absolute + dot.absolute_per_term * of_unit);
  if (dot.of_subnormal > 0) {
    const double least = smallest_normal(a.qk.operand);
    if (q.smallest * query_scale < least) m.score_key += terms * dot.of_subnormal * least;
    if (k.smallest < least) m.score_query += terms * dot.of_subnormal * least * query_scale;
    m.score_absolute += terms * dot.of_subnormal * least * least;
  }
  m.score_largest = terms * dot.of_largest * query_scale;
  m.score_terms *= query_scale;
  const double has_bias = shape.input->bias ? 1 : 0;
  if (!at_query) {
    for (double* c : {&m.score_terms, &m.score_absolute, &m.score_key, &m.score_query, &m.score_largest}) *c *= scale;
    // scale · dot = s - bias. A power of two is exact but for underflow.
    // So is ln 2 of exponents of two, which no kernel multiplies by.
    const bool exact = (is_power_of_two(scale) || shape.input->base_two) && !whole;
    // Where the factor underflows, the largest dot product of its operands makes the most of that.
    const double largest = largest_finite(a.qk.operand);
    for (int i = 0; i < a.scale_roundings; ++i) round_scores(m, kU, 1, has_bias, product * terms * largest * largest);
    round_scores(m, exact ? 0 : kU, 1, has_bias, exact && shape.input->base_two ? 0 : product);
  }
  if (shape.input->bias) round_scores(m, kU, 1, 0, sum);
  if (whole) {
    // Back to a dot product, by the rounded inverse of the scale; and dot · c rounded, where M is far.
    if (shape.input->bias) round_scores(m, compose(kU, kU), 1, 0, product * std::fmax(scale, 1.0));
    round_scores(m, kU * (1 + kLog2eError), 1, 0, product * kLn2);
    m.final_scale = 1.4427;
  }
  m.dot_scale = query_scale;
  if (a.log2_at == Arithmetic::Log2At::score) {
    round_scores(m, kU * (1 + kLog2eError), 1, 0, product * kLn2);
    m.final_scale = 1.4427;  // log2 e, rounded up
  }
  if (a.log2_at == Arithmetic::Log2At::direct) m.final_scale = 1.4427;
}

void set_weights(ErrorModel& m, const Arithmetic& a) {
  const double product = a.flush_to_zero ? 0x1p-126 : 0x1p-150;
  const double sum = a.flush_to_zero ? 0x1p-126 : 0;
  switch (a.log2_at) {
    case Arithmetic::Log2At::natural:
      m.distance = kU;
      m.distance_absolute = sum;
      break;
    case Arithmetic::Log2At::difference:
      // fl(fl(s - m) · L): the subtraction, the constant, the multiplication.
      m.distance = compose(compose(kU, kLog2eError), kU);
      m.distance_absolute = 2 * sum + product * kLn2;
      break;
    case Arithmetic::Log2At::score:
      // L(s - m): the constant's error acts on the distance alone, the rounding of each score is in score_value.
      m.distance = compose(kU, kLog2eError);
      m.distance_absolute = sum;
      break;
    case Arithmetic::Log2At::direct:
      m.distance = kU;
      m.distance_absolute = sum * kLn2;
      break;
    case Arithmetic::Log2At::whole:
      // c has a rounding and the constant's error; a far exponent is a rounded difference. A near one is n + r, |r| <=
      // 1/2, r rounded.
      m.distance = compose(compose(kU, kLog2eError), kU);
      m.distance_absolute = 0x1p-26 * kLn2 * (1 + kU);
      m.headroom = kLn2 * (1 + 0x1p-50);
      break;
  }
  m.fixed_shift = a.fixed_shift;
  // ulp(x) <= 2^-23 x for normal x.
  m.exp_relative = 2 * kU * a.exp_ulp;
  m.exp_absolute = a.exp_ulp * 0x1p-149 + sum;
  const auto rescales = static_cast<double>(a.rescales);
  m.rescale_relative = compose(compounded(m.exp_relative, a.rescales), compounded(kU, a.rescales));
  // A factor's absolute error acts on weights of at most 1, relative to the maximum of their time.
  m.rescale_absolute = rescales * (m.exp_absolute * 2 + product);
  if (a.log2_at == Arithmetic::Log2At::whole) {
    // Powers of two: a factor and a product round only where they underflow.
    m.rescale_relative = 0;
    m.rescale_absolute = rescales * 2 * product;
  }
  m.sum_relative = compose(compounded(kU, a.sum_depth), m.rescale_relative);
  m.sum_absolute = sum;
  m.running_maximum = a.rescales > 0;
  m.normalised_weights = a.normalise == Arithmetic::Normalise::weights;
  m.divide_relative = 2 * kU * a.divide_ulp;
  m.divide_absolute = a.divide_ulp * 0x1p-149 + sum;
  if (a.p_format != Format::f32) {
    m.weight_relative = unit_roundoff(a.p_format);
    m.weight_half_quantum = 0.5 * quantum(a.p_format) / a.p_scale;
  }
}

void set_values(ErrorModel& m, const Arithmetic& a, const AttentionShape& shape, const OperandRange& v) {
  const double product = a.flush_to_zero ? 0x1p-126 : 0x1p-150;
  const Narrowing of_v = of_operands(shape, shape.input->v.format, v, a.pv.operand, std::nullopt, a.flush_to_zero);
  const double of_unit = shape.input->stored ? shape.input->stored->of_values : 1;
  // Weights wider than the unit's operand are narrowed on the way in.
  if (!contains(a.pv.operand, a.p_format)) {
    m.weight_relative = compose(m.weight_relative, unit_roundoff(a.pv.operand));
    m.weight_half_quantum += 0.5 * quantum(a.pv.operand) / a.p_scale;
  }
  const bool exact_rescales = a.log2_at == Arithmetic::Log2At::whole && a.pv.restart == 0;
  DotError dot = dot_error(a.pv, shape.Tk, exact_rescales ? 0 : a.rescales, a.flush_to_zero);
  m.accumulated = std::move(dot.growth);
  for (double& growth : m.accumulated) growth = compose(growth, compose(of_v.relative, m.rescale_relative));
  m.accumulated_uniform = dot.uniform;
  m.value_absolute = of_v.absolute * (1 + m.accumulated.back());
  m.accumulated_absolute = dot.absolute_per_term * of_unit;
  m.accumulated_fixed = static_cast<double>(a.rescales) * product * of_unit;
  // Weights of a tile are at most 1 and its exponential's error, and a power of two above them at most twice that.
  m.accumulated_largest = 2 * 2 * (1 + m.exp_relative) * dot.of_largest * (1 + m.accumulated.back());
  if (dot.of_subnormal > 0) {
    // Narrowed weights are often subnormal in f16; so may values be.
    const double least = smallest_normal(a.pv.operand);
    m.weight_subnormal = dot.of_subnormal * least;
    if (v.smallest < least) m.value_absolute += dot.of_subnormal * least;
    m.accumulated_absolute += dot.of_subnormal * least * least;
  }
}

void set_output(ErrorModel& m, const Arithmetic& a) {
  const double product = a.flush_to_zero ? 0x1p-126 : 0x1p-150;
  const double sum = a.flush_to_zero ? 0x1p-126 : 0;
  switch (a.normalise) {
    case Arithmetic::Normalise::output:
      m.output_relative = m.divide_relative;
      m.output_absolute += m.divide_absolute;
      break;
    case Arithmetic::Normalise::reciprocal:
      m.output_relative = compose(m.divide_relative, kU);
      m.output_absolute += product;
      break;
    case Arithmetic::Normalise::weights:
      break;
  }
  m.output_relative = compose(m.output_relative, compounded(kU, a.value_roundings));
  m.output_absolute += a.value_roundings * product;
  if (a.output != Format::f32) m.output = a.output;
  m.largest_step = kLargest;
  m.largest_output = largest_finite(a.output);
  m.log_relative = 2 * kU * a.log_ulp;
  m.log_absolute = a.log_ulp * 0x1p-149 + sum;
  m.lse_relative = kU;
  m.lse_absolute = sum;
  if (a.log2_at == Arithmetic::Log2At::score) {
    // m · L · fp32(ln 2) + log l, or (m · L + log2 l) · fp32(ln 2): two more roundings and both constants.
    m.lse_maximum = compose(compose(kLog2eError, kLn2Error), compounded(kU, 2));
    m.log_relative = compose(m.log_relative, compose(kLn2Error, compounded(kU, 2)));
    m.lse_absolute += 2 * product;
  }
  if (a.log2_at == Arithmetic::Log2At::whole) {
    // M · fp32(ln 2) + log l, M · ln 2 up to ln 2 above the maximum and log l as much below.
    m.lse_maximum = compose(compose(kLog2eError, kLn2Error), compounded(kU, 2));
    m.lse_absolute += product + (m.lse_maximum + m.log_relative) * m.headroom;
  }
}

}  // namespace

Narrowing narrowing(Format from, const OperandRange& range, Format operand, std::optional<double> scale,
                    bool flush_to_zero) {
  Narrowing result;
  const double factor = scale.value_or(1);
  const double largest = range.largest * factor;
  const double smallest = range.smallest * factor;
  const bool exact_factor = is_power_of_two(factor);
  if (scale && !exact_factor) {
    result.relative = kU;
    result.absolute = 0x1p-150;
  }
  if (!contains(operand, from) || (scale && !(exact_factor && contains(operand, from)))) {
    if (operand != Format::f32) {
      result.relative = compose(result.relative, unit_roundoff(operand));
      if (smallest < smallest_normal(operand)) result.absolute += 0.5 * quantum(operand);
    }
  } else if (scale && smallest < smallest_normal(operand)) {
    result.absolute += 0.5 * quantum(operand);
  }
  // Saturation moves the largest elements furthest.
  const double limit = largest_finite(operand);
  if (largest > limit) result.relative = std::fmax(result.relative, 1 - limit / largest);
  if (flush_to_zero && smallest < 0x1p-126) result.absolute += 0x1p-126;
  if (range.largest == 0) result.absolute = 0;
  return result;
}

ErrorModel error_model(const Arithmetic& arithmetic, const AttentionShape& shape, const OperandRange& q,
                       const OperandRange& k, const OperandRange& v) {
  return error_model(arithmetic, merge_error(arithmetic, shape.Tk), shape, q, k, v);
}

ErrorModel error_model(const Arithmetic& arithmetic, const MergeError& merges, const AttentionShape& shape,
                       const OperandRange& q, const OperandRange& k, const OperandRange& v) {
  ErrorModel m;
  set_scores(m, arithmetic, shape, q, k);
  set_weights(m, arithmetic);
  if (arithmetic.merges > 0) add_merges(merges, m);
  set_values(m, arithmetic, shape, v);
  set_output(m, arithmetic);
  return m;
}

namespace {

// What attention and softmax share of the double evaluation: exp, the row sum of n weights, one division, LSE.
ErrorModel double_model(std::int64_t n) {
  constexpr double u = kUnitDouble;
  ErrorModel m;
  m.distance = u;
  m.exp_relative = exp_relative_error;
  m.sum_relative = compounded(u, n + 8);
  m.output_relative = u;
  m.output_absolute = 0x1p-1074;
  m.lse_relative = u;
  m.lse_absolute = 0x1p-1074;
  m.largest_step = std::numeric_limits<double>::infinity();
  m.largest_output = std::numeric_limits<double>::infinity();
  m.shrink = 2;
  return m;
}

}  // namespace

ErrorModel reference_model(const AttentionShape& shape, const std::vector<double>& profile) {
  constexpr double u = kUnitDouble;
  ErrorModel m = double_model(shape.Tk);
  m.profile = profile;
  // Eigen adds the products of a dot product in an order of its own, from accumulators that start at zero: each term
  // passes at most D additions and its product's rounding. e4m3 products are multiples of 2^-18 below 2^18: exact.
  const bool exact = shape.input->q.format == Format::e4m3 && shape.input->k.format == Format::e4m3;
  m.score_terms = exact ? 0 : compounded(u, shape.D + 4) / kLeastProfile * std::fabs(shape.scale);
  m.score_absolute = 0;
  round_scores(m, u, 1, shape.input->bias ? 1 : 0, 0x1p-1000);
  if (shape.input->base_two) round_scores(m, u, 1, 0, 0);  // ln 2 as a double
  if (shape.input->bias) round_scores(m, u, 1, 0, 0);
  // Key tiles are added one after the other: at most Tk additions in all on the way of a term, and a product.
  m.accumulated.resize(static_cast<std::size_t>(shape.Tk) + 1);
  for (std::int64_t n = 0; n <= shape.Tk; ++n) m.accumulated[n] = compounded(u, n + 8);
  m.accumulated_uniform = true;
  m.accumulated_fixed = 0x1p-1000;
  // A profile of ones needs no correction by its least entry.
  bool flat = true;
  for (const double weight : profile) flat = flat && weight == 1;
  if (flat) m.score_terms *= kLeastProfile;
  return m;
}

ErrorModel softmax_model(const Arithmetic& a, std::int64_t n) {
  ErrorModel m;
  if (a.log2_at == Arithmetic::Log2At::score) {
    round_scores(m, kU * (1 + kLog2eError), 1, 0, (a.flush_to_zero ? 0x1p-126 : 0x1p-150) * kLn2);
  }
  set_weights(m, a);
  set_output(m, a);
  if (m.normalised_weights) {
    m.output_relative = m.divide_relative;
    m.output_absolute = m.divide_absolute;
    m.normalised_weights = false;
  }
  m.weight_relative = m.weight_half_quantum = 0;
  m.accumulated.assign(static_cast<std::size_t>(n) + 1, 0.0);
  m.accumulated_uniform = true;
  return m;
}

ErrorModel softmax_reference_model(std::int64_t n) {
  ErrorModel m = double_model(n);
  m.accumulated.assign(static_cast<std::size_t>(n) + 1, 0.0);
  m.accumulated_uniform = true;
  return m;
}

}  // namespace nbx::oracle
