#include "merged_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nbx::oracle::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double u = 0x1p-24;

/// Operations to nearest fp32. `direction` is not looked at.
struct Nearest {
  const Arithmetic& a;
  std::mt19937_64& random;
  static constexpr double right = 0;

  float flushed(double x) const {
    const auto near = static_cast<float>(x);
    return a.flush_to_zero && std::fabs(near) < 0x1p-126F ? std::copysign(0.0F, near) : near;
  }
  double add(double exact, double) const { return flushed(exact); }
  double multiply(double exact, double) const { return flushed(exact); }
  double function(double exact, double ulps, double) {
    if (exact == 0) return 0;
    const double unit = std::max(2 * half_ulp(Format::f32, exact), 0x1p-149);
    const double target = exact + std::uniform_real_distribution<double>(-ulps, ulps)(random) * unit;
    const auto near = static_cast<float>(target);
    return flushed(std::fabs(static_cast<double>(near) - exact) <= ulps * unit ? near : static_cast<float>(exact));
  }
  double dot(const Attention& t, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t d = 0; d < t.q.size(); ++d)
      sum = flushed(std::fma(static_cast<float>(t.q.at(d)), static_cast<float>(t.k.at(j * t.q.size() + d)),
                             static_cast<float>(sum)));
    return sum;
  }
  double add_product(double p, double v, double sum) const {
    return flushed(std::fma(static_cast<float>(p), static_cast<float>(v), static_cast<float>(sum)));
  }
  double row_sum(const std::vector<double>& weights, double) const {
    double sum = 0;
    for (const double weight : weights) sum = flushed(sum + weight);
    return sum;
  }
};

/// Operations that err by all that is granted, in a direction of +1 or -1.
struct Extreme {
  const Arithmetic& a;
  double right;

  double add(double exact, double direction) const {
    return exact + direction * (u * std::fabs(exact) + (a.flush_to_zero ? 0x1p-126 : 0));
  }
  double multiply(double exact, double direction) const {
    return exact + direction * (u * std::fabs(exact) + (a.flush_to_zero ? 0x1p-126 : 0x1p-150));
  }
  double function(double exact, double ulps, double direction) const {
    return exact + direction * ulps * std::max(2 * half_ulp(Format::f32, exact), 0x1p-149);
  }
  double dot(const Attention& t, std::int64_t j) const { return t.q.at(0) * t.k.at(j); }
  double add_product(double p, double v, double sum) const { return sum + p * v; }
  double row_sum(const std::vector<double>& weights, double direction) const {
    double sum = 0;
    for (const double weight : weights) sum += weight;
    return sum * (1 + direction * u * static_cast<double>(a.sum_depth));
  }
};

struct Result {
  double o = 0, lse = -infinity;
};

template <class Operations>
class Merge {
 public:
  Merge(const Arithmetic& arithmetic, Operations operations) : a_(arithmetic), fp_(operations) {}

  double run(const MergedRow& row) {
    Result all;
    bool first = true;
    for (const KeyRange& range : row.ranges) {
      const Result one = of_range(row, range);
      all = first ? one : merged(all, one);
      first = false;
    }
    return all.o;
  }

 private:
  /// More weight of a result raises o where it lies above it.
  double up(double value) const { return value < fp_.right ? -1 : 1; }

  Result of_range(const MergedRow& row, const KeyRange& range) {
    if (range.count == 0) return {};
    std::vector<double> scores, weights;
    for (std::size_t j = 0; j < range.count; ++j)
      scores.push_back(fp_.dot(row.tensors, static_cast<std::int64_t>(range.first + j)));
    const double m = range.shift ? static_cast<double>(*range.shift) : *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (std::size_t j = 0; j < range.count; ++j) {
      const double v = row.tensors.v.at(static_cast<std::int64_t>(range.first + j));
      weights.push_back(exp2(fp_.add(scores[j] - m, up(v)), up(v)));
      sum = fp_.add_product(weights.back(), v, sum);
    }
    const double l = fp_.row_sum(weights, fp_.right > 0 ? -1 : 1);
    const double o = fp_.multiply(sum / l, 1);
    return {o, fp_.add(m + fp_.function(std::log2(l), a_.log_ulp, up(o)), up(o))};
  }

  double exp2(double x, double direction) { return fp_.function(std::exp2(x), a_.exp_ulp, direction); }

  double share(const Result& one, double largest) {
    return one.lse == -infinity ? 0 : exp2(fp_.add(one.lse - largest, up(one.o)), up(one.o));
  }

  Result merged(const Result& before, const Result& hop) {
    const double largest = std::max(before.lse, hop.lse);
    if (largest == -infinity) return {};
    const double w = share(before, largest), w_hop = share(hop, largest);
    const double values = fp_.add(fp_.multiply(before.o * w, 1) + fp_.multiply(hop.o * w_hop, 1), 1);
    const double sum = fp_.add(w + w_hop, values > 0 ? -1 : 1);
    const double o = fp_.multiply(values / sum, 1);
    return {o, fp_.add(largest + fp_.function(std::log2(sum), a_.log_ulp, up(o)), up(o))};
  }

  const Arithmetic& a_;
  Operations fp_;
};

}  // namespace

MergedRow MergedRow::of(const std::vector<float>& scores, const std::vector<float>& values,
                        std::vector<KeyRange> ranges) {
  const auto n = static_cast<std::int64_t>(scores.size());
  MergedRow row;
  row.tensors.q = Tensor(Format::f32, {1, 1, 1, 1});
  row.tensors.k = Tensor(Format::f32, {1, 1, n, 1});
  row.tensors.v = Tensor(Format::f32, {1, 1, n, 1});
  row.tensors.q.set(0, 1);
  for (std::int64_t j = 0; j < n; ++j) {
    row.tensors.k.set(j, scores[static_cast<std::size_t>(j)]);
    row.tensors.v.set(j, values[static_cast<std::size_t>(j)]);
  }
  row.ranges = std::move(ranges);
  return row;
}

AttentionInput MergedRow::input() const {
  AttentionInput in = tensors.input();
  in.scale = 1.0F;
  in.base_two = true;
  double largest = std::numeric_limits<double>::quiet_NaN();
  for (const KeyRange& range : ranges)
    if (range.count > 0 && range.shift) largest = std::fmax(largest, static_cast<double>(*range.shift));
  in.fixed_shift = {largest};
  return in;
}

double merged_to_nearest(const MergedRow& row, const Arithmetic& arithmetic, std::mt19937_64& random) {
  return Merge<Nearest>(arithmetic, {arithmetic, random}).run(row);
}

double merged_as_high_as_possible(const MergedRow& row, const Arithmetic& arithmetic, double right) {
  return Merge<Extreme>(arithmetic, {arithmetic, right}).run(row);
}

}  // namespace nbx::oracle::testing
