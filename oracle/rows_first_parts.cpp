#include "oracle/rows_first_parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>

#include "oracle/attention_block.hpp"
#include "oracle/attention_elements.hpp"
#include "oracle/output.hpp"
#include "oracle/refined_row.hpp"
#include "oracle/special_values.hpp"

namespace nbx::oracle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

float exact_product(double a, double b, const char* what) {
  const double product = a * b;
  const auto narrow = static_cast<float>(product);
  if (static_cast<double>(narrow) != product && !std::isnan(product)) {
    throw std::invalid_argument(std::string(what) + " is no fp32 number");
  }
  return narrow;
}

/// What a row's errors under one model come to in its partials.
struct PartialErrors {
  double max = kInf, sum = kInf;                      // of pm; of pl
  double per_sum_error = kInf, per_magnitude = kInf;  // of po: times the error of P·V, times |po|
  double constant = kInf;                             // of po

  PartialErrors(const ErrorModel& model, const RowErrors& errors, const BlockRow& row, double inflation) {
    const double E = errors.sum * inflation;
    const double B = std::fmax(errors.shift, errors.largest_error) * inflation;
    if (!(E < kInf) || !(B < 1) || model.accumulated_largest > 0) return;  // nothing is known
    const double factor = std::exp(B) * (1 + 0x1p-40), less_one = std::expm1(B) * (1 + 0x1p-40);
    max = B;
    sum = row.sum * (factor * E + less_one) * (1 + 0x1p-40);
    const auto keys = static_cast<double>(row.keys);
    const double absolute = (keys * model.accumulated_absolute + model.accumulated_fixed) * errors.enlarged +
                            model.value_absolute * row.sum * (1 + E);
    per_sum_error = factor * inflation;
    per_magnitude = less_one;
    constant = absolute * factor * inflation;
  }
};

void set(Bounds& bounds, std::int64_t element, double bound, std::uint8_t classes) {
  const auto at = static_cast<std::size_t>(element);
  bounds.bound[at] = bound;
  bounds.classes[at] = classes;
  bounds.open[at] = !(bound < kInf);
}

/// One row of a block to its partials: element `scalar` of pm and pl, from scalar · D on of po.
void write_row_partials(const AttentionBlock& block, std::int64_t r, std::int64_t scalar, Evaluation& out) {
  const AttentionHead& head = *block.head;
  const BlockRow& row = block.rows[static_cast<std::size_t>(r)];
  Evaluation::Output &pm = out.outputs[1], &pl = out.outputs[2], &po = out.outputs[3];
  const std::int64_t D = head.shape.Dv;
  if (row.state != BlockRow::State::counted) {
    const bool masked = row.state == BlockRow::State::masked;
    fill_element(
        pm, scalar, masked ? -kInf : kNaN,
        masked ? static_cast<std::uint8_t>(minus_infinity) : static_cast<std::uint8_t>(not_a_number | plus_infinity));
    fill_element(pl, scalar, masked ? 0 : kNaN, masked ? exact_plus_zero : not_a_number);
    for (std::int64_t d = 0; d < D; ++d) {
      fill_element(po, scalar * D + d, masked ? 0 : kNaN, masked ? exact_plus_zero : not_a_number);
    }
    return;
  }
  const bool special = !head.special_values.empty() && head.special_values.front() < row.keys;
  const auto at = static_cast<std::size_t>(scalar);
  pm.expected.value[at] = row.maximum;
  pl.expected.value[at] = row.sum;
  pm.expected.classes[at] = pl.expected.classes[at] = finite;
  const double inflation = inflation_of(row.errors[0]);
  constexpr std::uint8_t number = finite, any = finite | not_a_number | plus_infinity | minus_infinity;
  for (std::size_t m = 0; m < head.models.size(); ++m) {
    const PartialErrors errors(head.models[m], row.errors[m], row, inflation);
    const bool open = m > 0 && (row.scores_open[m] != 0 || head.sums_may_overflow);
    if (m == 0) {
      pm.expected.radius[at] = errors.max;
      pl.expected.radius[at] = errors.sum;
    } else {
      set(pm.bounds[m - 1], scalar, open ? kInf : errors.max, open ? any : number);
      set(pl.bounds[m - 1], scalar, open ? kInf : errors.sum, open ? any : number);
    }
    for (std::int64_t d = 0; d < D; ++d) {
      const auto element = static_cast<std::size_t>(scalar * D + d);
      const double value = block.sums(r, d);
      const double bound =
          block.errors[m](r, d) * errors.per_sum_error + std::fabs(value) * errors.per_magnitude + errors.constant;
      if (m == 0) {
        po.expected.value[element] = value;
        po.expected.radius[element] = bound;
        po.expected.classes[element] = finite;
      } else {
        set(po.bounds[m - 1], scalar * D + d, open ? kInf : bound, open ? any : number);
      }
    }
  }
  if (!special) return;
  const SpecialColumns columns(block, r, false);
  for (std::int64_t d = 0; d < D; ++d) {
    const auto element = static_cast<std::size_t>(scalar * D + d);
    std::uint8_t all = columns.classes(0, d);
    for (std::size_t a = 0; a < po.bounds.size(); ++a) {
      po.bounds[a].classes[element] = columns.classes(a + 1, d);
      all |= po.bounds[a].classes[element];
    }
    po.expected.classes[element] = all;
    po.expected.value[element] = value_of(all, po.expected.value[element]);
  }
}

}  // namespace

RowsOfHead::RowsOfHead(const RowsFirstInput& input, std::int64_t stream, std::int64_t kv_head,
                       std::vector<std::int64_t> rows, std::int64_t first, std::int64_t keys)
    : input_(&input),
      stream_(stream),
      kv_head_(kv_head),
      group_(input.q.shape[1] / input.k.shape[1]),
      first_(first),
      keys_(keys),
      rows_(std::move(rows)) {
  const std::int64_t D = input.q.shape[2];
  const std::int64_t row_bytes = D * traits(input.q.format).bytes;
  q_.resize(static_cast<std::size_t>(count() * row_bytes));
  for (std::int64_t i = 0; i < count(); ++i) {
    std::memcpy(q_.data() + i * row_bytes, input.q.bytes.data() + place(i) * row_bytes,
                static_cast<std::size_t>(row_bytes));
  }
  for (const std::int64_t r : rows_) {
    lengths_.push_back(std::clamp<std::int64_t>(input.limit[static_cast<std::size_t>(r)] - first, 0, keys));
  }
  if (input.v_scale.empty()) return;
  const std::int64_t capacity = input.v.shape[2];
  const std::int64_t start = ((stream * input.k.shape[1] + kv_head) * capacity + first) * D;
  scaled_v_.resize(static_cast<std::size_t>(keys * D) * sizeof(float));
  const double scale = static_cast<double>(input.v_scale[static_cast<std::size_t>(kv_head)]);
  for (std::int64_t i = 0; i < keys * D; ++i) {
    const float value = exact_product(input.v.at(start + i), scale, "a value times its scale");
    std::memcpy(scaled_v_.data() + i * 4, &value, sizeof value);
  }
}

std::int64_t RowsOfHead::place(std::int64_t i) const {
  const auto rows = static_cast<std::int64_t>(rows_.size());
  return rows_[static_cast<std::size_t>(i % rows)] * input_->q.shape[1] + kv_head_ * group_ + i / rows;
}

AttentionInput RowsOfHead::attention() const {
  const std::int64_t D = input_->q.shape[2], capacity = input_->k.shape[2];
  const std::int64_t start = ((stream_ * input_->k.shape[1] + kv_head_) * capacity + first_) * D;
  const auto part = [&](const View& view) {
    const std::int64_t width = traits(view.format).bytes;
    return View{.bytes = view.bytes.subspan(static_cast<std::size_t>(start * width),
                                            static_cast<std::size_t>(keys_ * D * width)),
                .format = view.format,
                .shape = {1, 1, keys_, D}};
  };
  AttentionInput out{
      .q = {.bytes = q_, .format = input_->q.format, .shape = {1, group_, static_cast<std::int64_t>(rows_.size()), D}},
      .k = part(input_->k),
      .v = part(input_->v),
      .bias = {},
      .causal = Causal::none,
      .scale = {},
      .lengths = lengths_};
  if (!input_->v_scale.empty()) out.v = {.bytes = scaled_v_, .format = Format::f32, .shape = {1, 1, keys_, D}};
  if (!input_->k_scale.empty()) {
    const double plain = static_cast<double>(static_cast<float>(1 / std::sqrt(static_cast<double>(D))));
    out.scale = exact_product(plain, static_cast<double>(input_->k_scale[static_cast<std::size_t>(kv_head_)]),
                              "the scale times that of a KV head");
  }
  return out;
}

void write_partials(const RowsFirstInput& input, const RowsOfHead& part, std::span<const Arithmetic> arithmetics,
                    Evaluation& out) {
  std::map<std::int64_t, std::vector<std::int64_t>> by_width;
  for (const std::int64_t r : part.rows()) by_width[input.width[static_cast<std::size_t>(r)]].push_back(r);
  for (const auto& [width, rows] : by_width) {
    for (std::int64_t chunk = 0; chunk < input.chunks; ++chunk) {
      const std::int64_t first = std::min(chunk * width, input.k.shape[2]);
      const RowsOfHead of_chunk(input, part.stream(), part.kv_head(), rows, first,
                                std::min(width, input.k.shape[2] - first));
      const AttentionInput attention = of_chunk.attention();
      const AttentionShape shape(attention);
      const AttentionHead head(shape, 0, 0, arithmetics);
      AttentionBlock block(shape, arithmetics.size() + 1, std::max<std::int64_t>(1, of_chunk.count()));
      block.compute(head, 0, of_chunk.count());
      for (std::int64_t i = 0; i < of_chunk.count(); ++i) {
        write_row_partials(block, i, of_chunk.place(i) * input.chunks + chunk, out);
      }
    }
  }
}

Refined refine_partial(const RowsFirstInput& input, std::size_t output, std::int64_t element, int bits) {
  const Refined nothing{.value = kNaN, .radius = kInf};
  const std::int64_t H = input.q.shape[1], D = input.q.shape[2], group = H / input.k.shape[1];
  const std::int64_t scalar = output == 3 ? element / D : element, chunk = scalar % input.chunks;
  const std::int64_t row = scalar / input.chunks / H, head = scalar / input.chunks % H;
  const std::int64_t width = input.width[static_cast<std::size_t>(row)], capacity = input.k.shape[2];
  const std::int64_t first = std::min(chunk * width, capacity);
  const RowsOfHead part(input, input.stream[static_cast<std::size_t>(row)], head / group, {row}, first,
                        std::min(width, capacity - first));
  const AttentionInput attention = part.attention();
  const ExactRow exact = exact_row(attention, head % group);
  if (!exact.regular) return nothing;
  const std::unique_ptr<RefinedRow> refined = refine_row(exact, bits);
  if (output == 1) return refined->maximum();
  if (output == 2) return refined->sum();
  std::vector<double> values;
  for (const std::int64_t key : exact.keys) {
    values.push_back(attention.v.at(key * D + element % D));
    if (!std::isfinite(values.back())) return nothing;
  }
  return refined->weighted_sum(values);
}

}  // namespace nbx::oracle
