#include "oracle/attention_block.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/exp.hpp"

namespace nbx::oracle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// Products of fp32 coefficients are summed over at most so many keys before they go to double.
constexpr std::int64_t kTile = 4096;
// Coefficients below this share of the row's largest are dropped and covered by an absolute term.
constexpr double kDropped = 0x1p-110;

}  // namespace

double special_score(const AttentionHead& head, std::int64_t row, std::int64_t key, double bias) {
  const AttentionInput& input = *head.shape.input;
  const std::int64_t D = head.shape.D;
  std::vector<double> q(D), k(D);
  input.q.read((head.first_row() + row) * D, q);
  input.k.read(((head.b * head.shape.Hk + head.kv_head) * head.shape.Tk + key) * D, k);
  // Finite parts cannot overflow a double, so any NaN or Inf comes from the operands.
  double dot = 0;
  for (std::int64_t d = 0; d < D; ++d) dot += q[d] * k[d];
  return dot * head.shape.scale + bias;
}

AttentionBlock::AttentionBlock(const AttentionShape& shape, std::size_t models, std::int64_t height)
    : weights(height, shape.Tk), coefficients(models), sums(height, shape.Dv), errors(models) {
  for (MatrixF& c : coefficients) c.resize(height, shape.Tk);
  for (MatrixD& e : errors) e.resize(height, shape.Dv);
}

void AttentionBlock::compute(const AttentionHead& of, std::int64_t first_row, std::int64_t row_count) {
  head = &of;
  const AttentionShape& shape = head->shape;
  first = first_row;
  count = row_count;
  keys = 0;
  rows.assign(static_cast<std::size_t>(count), BlockRow());
  for (std::int64_t r = 0; r < count; ++r) {
    rows[r].keys = shape.visible(head->b, (first + r) % shape.Tq);
    keys = std::max(keys, rows[r].keys);
  }
  const Operand query = load(shape.input->q, head->first_row() + first, count, shape.D);
  query_factors_ = query.factors;
  multiply_scores(query);
  for (std::int64_t r = 0; r < count; ++r) {
    settle_scores(query, r);
    if (rows[r].state == BlockRow::State::counted) {
      settle_weights(r);
      settle_errors(r);
    } else {
      weights.row(r).head(keys).setZero();
      for (MatrixF& c : coefficients) c.row(r).head(keys).setZero();
    }
  }
  multiply_values();
}

void AttentionBlock::multiply_scores(const Operand& query) {
  weights.topLeftCorner(count, keys).noalias() = query.values * head->key.values.topRows(keys).transpose();
  while (products_.size() < head->profiles.size()) products_.emplace_back(weights.rows(), weights.cols());
  for (std::size_t i = 0; i < head->profiles.size(); ++i) {
    const std::vector<double>& profile = head->profiles[i];
    const Eigen::Map<const Eigen::RowVectorXd> share(profile.data(), static_cast<Eigen::Index>(profile.size()));
    const MatrixF weighted = (query.magnitudes.array().rowwise() * share.cast<float>().array()).matrix();
    products_[i].topLeftCorner(count, keys).noalias() = weighted * head->key.magnitudes.topRows(keys).transpose();
  }
}

// scores of row r: from dot products to s, special ones included; state, maximum and excluded keys.
void AttentionBlock::settle_scores(const Operand& query, std::int64_t r) {
  const AttentionShape& shape = head->shape;
  BlockRow& row = rows[r];
  const std::int64_t n = row.keys;
  if (n == 0) return;
  double* s = weights.row(r).data();
  for (std::int64_t j = 0; j < n; ++j) s[j] *= shape.scale;
  scratch.bias.clear();
  bool bias_finite = true;
  if (shape.input->bias) {
    scratch.bias.resize(n);
    shape.read_bias(head->b, head->head_of(first + r), (first + r) % shape.Tq, scratch.bias);
    const double* bias = scratch.bias.data();
    double difference = 0;  // NaN where one is not finite
    for (std::int64_t j = 0; j < n; ++j) {
      s[j] += bias[j];
      difference += bias[j] - bias[j];
    }
    bias_finite = difference == 0;
  }
  const bool query_special = std::ranges::binary_search(query.special_rows, r);
  const std::vector<std::int64_t>& special_keys = head->key.special_rows;
  if (!bias_finite || query_special || !special_keys.empty()) {
    const auto settle = [&](std::int64_t j) {
      const double bias = scratch.bias.empty() ? 0.0 : scratch.bias[j];
      if (bias == -kInf) {
        row.biased.push_back(j);
      } else {
        s[j] = special_score(*head, first + r, j, bias);
        if (s[j] == -kInf) row.absent.push_back(j);
        if (std::isnan(s[j]) || s[j] == kInf) row.state = BlockRow::State::poisoned;
      }
    };
    auto next_special = special_keys.begin();
    for (std::int64_t j = 0; j < n; ++j) {
      const bool key_special = next_special != special_keys.end() && *next_special == j;
      if (key_special) ++next_special;
      if (key_special || query_special || (!bias_finite && !std::isfinite(scratch.bias[j]))) settle(j);
      if (row.state == BlockRow::State::poisoned) return;
    }
  }
  if (static_cast<std::int64_t>(row.biased.size() + row.absent.size()) == n) return;  // masked
  row.state = BlockRow::State::counted;
  for (const auto* keys_out : {&row.biased, &row.absent}) {
    for (const std::int64_t j : *keys_out) s[j] = -kInf;
  }
  row.maximum = weights.row(r).head(n).maxCoeff();
}

// p and l of a counted row; leaves score, distance and excluded keys in scratch.
void AttentionBlock::settle_weights(std::int64_t r) {
  BlockRow& row = rows[r];
  const std::int64_t n = row.keys;
  double* s = weights.row(r).data();
  scratch.score.assign(s, s + n);
  scratch.distance.resize(n);
  scratch.excluded.clear();
  for (const auto* keys_out : {&row.biased, &row.absent}) {
    scratch.excluded.insert(scratch.excluded.end(), keys_out->begin(), keys_out->end());
  }
  for (const std::int64_t j : scratch.excluded) scratch.score[j] = 0;
  double* x = scratch.distance.data();
  const double maximum = row.maximum;
  for (std::int64_t j = 0; j < n; ++j) x[j] = maximum - s[j];
  for (const std::int64_t j : scratch.excluded) {
    x[j] = kExcluded;
    if (!scratch.bias.empty()) scratch.bias[j] = 0;
  }
  for (std::int64_t j = 0; j < n; ++j) s[j] = certified_exp(-x[j]);
  weights.row(r).segment(n, keys - n).setZero();
  row.sum = weights.row(r).head(n).sum();
}

double AttentionBlock::fixed_offset(std::int64_t r, std::size_t model) const {
  const std::vector<double>& shifts = head->shape.input->fixed_shift;
  if (shifts.empty() || !head->models[model].fixed_shift) return std::numeric_limits<double>::quiet_NaN();
  const double shift = shifts[static_cast<std::size_t>(head->first_row() + first + r)];
  return (shift + fixed_shift_margin) * 0x1.62e42fefa39efp-1 - rows[r].maximum;
}

RowScores AttentionBlock::row_scores(std::int64_t r, const Scratch& of, std::size_t model) const {
  const auto n = static_cast<std::size_t>(rows[r].keys);
  return {.score = of.score,
          .distance = of.distance,
          .weight = {weights.row(r).data(), n},
          .bias = of.bias,
          .products = {products_[head->profile_of[model]].row(r).data(), n},
          .key_factors = {head->key.factors.data(), n},
          .excluded = of.excluded,
          .query_factor = query_factors_[r],
          .sum = rows[r].sum,
          .maximum = rows[r].maximum,
          .fixed_offset = fixed_offset(r, model)};
}

// A step before the exponential may leave fp32's range, and it shows. Keys of bias -inf have no say. A score that ends
// up at -inf far below the maximum is harmless: its weight is 0 either way.
static bool scores_may_overflow(const ErrorModel& model, const RowScores& row, double scale,
                                std::span<const std::int64_t> biased) {
  const double limit = model.largest_step;
  const double least_profile = model.profile.empty() ? 1 : *std::ranges::min_element(model.profile);
  // Partial sums, and errors with them, stay below the sum of magnitudes times this.
  constexpr double rounded = 1 + 0x1p-6;
  auto skip = biased.begin();
  for (std::int64_t j = 0; j < static_cast<std::int64_t>(row.score.size()); ++j) {
    if (skip != biased.end() && *skip == j) {
      ++skip;
      continue;
    }
    const double terms = static_cast<double>(row.products[j]) * row.query_factor * row.key_factors[j] / least_profile;
    // Scaled once more where the scale follows the product.
    const double largest_scaled = terms * std::fmax(model.dot_scale, scale);
    if (!(terms * model.dot_scale * rounded < limit) || !(largest_scaled * rounded < limit)) return true;
    // A sum with the bias rounds to Inf from half an ulp above the largest number on.
    const double last = std::fabs(row.score[j]) + largest_scaled * (rounded - 1);
    const bool outside = !(last * model.final_scale < limit * (1 + 0x1p-26));
    if (outside && !(row.score[j] < 0 && row.distance[j] > exp_domain)) return true;
  }
  return false;
}

void AttentionBlock::settle_errors(std::int64_t r) {
  BlockRow& row = rows[r];
  const std::int64_t n = row.keys;
  const std::size_t models = head->models.size();
  const std::size_t specials = head->special_values.size();
  row.errors.resize(models);
  row.coefficient_factor.assign(models, 0.0);
  row.scores_open.assign(models, 0);
  row.may_vanish.assign(models * specials, 1);
  scratch.growth.resize(n);
  scratch.coefficient.resize(n);
  const double* value_factor = head->value.factors.data();
  const bool check_scores = head->scores_may_overflow || !scratch.bias.empty();
  for (std::size_t m = 0; m < models; ++m) {
    const ErrorModel& model = head->models[m];
    const RowScores of = row_scores(r, scratch, m);
    RowErrors& row_errors = row.errors[m];
    float* out = coefficients[m].row(r).data();
    row_errors = weight_errors(model, of, scratch.growth);
    if (check_scores && m > 0) {
      row.scores_open[m] = scores_may_overflow(model, of, std::fabs(head->shape.scale), row.biased);
    }
    if (!(row_errors.sum < 1) || row.scores_open[m]) {
      std::fill_n(out, keys, 0.0f);
      continue;
    }
    value_coefficients(model, of, row_errors, scratch.growth, scratch.coefficient);
    double* c = scratch.coefficient.data();
    for (std::size_t i = 0; i < specials && head->special_values[i] < n; ++i) {
      const std::int64_t j = head->special_values[i];
      row.may_vanish[m * specials + i] = !(c[j] < of.weight[j] * (1 - 0x1p-10));
    }
    Eigen::Map<Eigen::ArrayXd> scaled_up(c, n);
    scaled_up *= Eigen::Map<const Eigen::ArrayXd>(value_factor, n);
    const double largest = scaled_up.maxCoeff();
    int exponent = 0;
    std::frexp(largest, &exponent);
    row.coefficient_factor[m] = std::ldexp(1.0, exponent);
    const double scaled = std::ldexp(1.0, -exponent);
    for (std::int64_t j = 0; j < n; ++j) {
      const double share = c[j] * scaled;
      out[j] = static_cast<float>(share < kDropped ? 0.0 : share);
    }
    std::fill_n(out + n, keys - n, 0.0f);
  }
}

void AttentionBlock::multiply_values() {
  sums.topRows(count).noalias() = weights.topLeftCorner(count, keys) * head->value.values.topRows(keys);
  MatrixF part(count, head->shape.Dv);
  for (std::size_t m = 0; m < head->models.size(); ++m) {
    auto total = errors[m].topRows(count);
    total.setZero();
    for (std::int64_t begin = 0; begin < keys; begin += kTile) {
      const std::int64_t width = std::min(kTile, keys - begin);
      part.noalias() = coefficients[m].block(0, begin, count, width) * head->value.magnitudes.middleRows(begin, width);
      total += part.cast<double>();
    }
    const double rounded = 1 + static_cast<double>(std::min(kTile, keys) + 16) * 0x1p-23;
    for (std::int64_t r = 0; r < count; ++r) {
      if (rows[r].state != BlockRow::State::counted) continue;
      // Dropped coefficients, and products that underflow: at most 2^-109 of the factor for each key.
      const double factor = rows[r].coefficient_factor[m];
      const double dropped = static_cast<double>(rows[r].keys) * 2 * kDropped * factor;
      total.row(r) = (total.row(r).array() * (factor * rounded) + dropped).matrix();
    }
  }
}

}  // namespace nbx::oracle
