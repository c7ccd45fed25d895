// The bound on results of key ranges that are merged by LSE, ranges that mix fixed shifts and running maxima among
// them: it holds for fp32 to nearest and for errors that all go one way, and each of its terms is needed.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "merged_row.hpp"
#include "oracle/attention_elements.hpp"
#include "oracle/merge_error.hpp"
#include "oracle/output.hpp"
#include "oracle/plain.hpp"

namespace nbx::oracle::testing {
namespace {

constexpr double ln_2 = 0x1.62e42fefa39efp-1;

/// Merges as many results as `row` has ranges. Of `exact_products`, only what merging and weighing cost is left.
Arithmetic merging(const MergedRow& row, bool exact_products) {
  Arithmetic a;
  a.log2_at = Arithmetic::Log2At::direct;
  a.qk.unit = a.pv.unit = Dot::Unit::any_order;
  a.qk.products_exact = a.pv.products_exact = true;
  if (exact_products) a.qk.u = a.pv.u = 0x1p-60;
  a.merges = static_cast<std::int64_t>(row.ranges.size());
  a.sum_depth = exact_products ? 1 : row.tensors.v.size() + a.merges;
  for (const KeyRange& range : row.ranges) a.fixed_shift = a.fixed_shift || range.shift.has_value();
  return a;
}

/// The bound of o, with `merges` in place of what merging is taken to add.
double bound_of(const MergedRow& row, const Arithmetic& arithmetic, const MergeError& merges) {
  const AttentionInput input = row.input();
  const AttentionShape shape(input);
  AttentionHead head(shape, 0, 0, {&arithmetic, 1});
  head.models[1] = error_model(arithmetic, merges, shape, head.query, head.key.range, head.value.range);
  AttentionBlock block(shape, 2, 1);
  block.compute(head, 0, 1);
  Evaluation::Output o = make_output("o", {1}, 1), lse = make_output("lse", {1}, 1);
  write_row(block, 0, false, 0, o, lse);
  return o.bounds[0].bound[0];
}
double bound_of(const MergedRow& row, const Arithmetic& arithmetic) {
  return evaluate(row.input(), {&arithmetic, 1}).outputs[0].bounds[0].bound[0];
}

PlainReal<256> right_answer(const MergedRow& row) { return plain<256>(row.input())[0][0]; }

double distance(double found, const PlainReal<256>& right) {
  return static_cast<double>(abs(PlainReal<256>(found) - right));
}

/// Up to 8 ranges of up to 5 keys, some of them empty; scores of a few sizes, shifts all over the window.
MergedRow random_row(std::mt19937_64& random, bool dot_products) {
  std::normal_distribution<double> normal;
  const double sizes[] = {0.1, 1, 8, 40, 400}, values[] = {1, 256, 0x1p-130};
  const double size = sizes[random() % 5], value = values[random() % 3];
  const std::size_t ranges = 1 + random() % 8;
  std::vector<float> scores, v;
  std::vector<KeyRange> list;
  for (std::size_t r = 0; r < ranges; ++r) {
    const std::size_t count = r == 0 ? 1 + random() % 5 : random() % 6;
    const double centre = size * normal(random);
    double least = INFINITY, most = -INFINITY;
    list.push_back({scores.size(), count, std::nullopt});
    for (std::size_t j = 0; j < count; ++j) {
      scores.push_back(static_cast<float>(centre + std::fmin(size, 8) * normal(random)));
      v.push_back(static_cast<float>(value * normal(random)));
      least = std::fmin(least, scores.back()), most = std::fmax(most, scores.back());
    }
    const double low = most - 118, high = least + 124;
    if (count > 0 && low < high && random() % 3 != 0)
      list.back().shift = static_cast<float>(std::uniform_real_distribution<double>(low, high)(random));
  }
  MergedRow row = MergedRow::of(scores, v, list);
  if (!dot_products) return row;
  // The same scores, nearly, as sums of four products that round: q·(1, 1, 1, −0.2) is 1.8.
  row.tensors.q = Tensor(Format::f32, {1, 1, 1, 4});
  Tensor k(Format::f32, {1, 1, static_cast<std::int64_t>(scores.size()), 4});
  for (std::int64_t d = 0; d < 4; ++d) row.tensors.q.set(d, 0.3 + 0.4 * static_cast<double>(d));
  for (std::int64_t i = 0; i < k.size(); ++i)
    k.set(i, scores[static_cast<std::size_t>(i / 4)] * (i % 4 == 3 ? -0.2 : 1.0) / 1.8);
  row.tensors.k = std::move(k);
  return row;
}

class RandomMerges : public ::testing::TestWithParam<bool> {};  // flush-to-zero

TEST_P(RandomMerges, StayWithinTheirBound) {
  std::mt19937_64 random(GetParam() ? 71 : 70);
  double nearest = 0, extreme = 0;
  int mixed = 0;
  for (int round = 0; round < 1200; ++round) {
    const MergedRow row = random_row(random, round % 2 == 1);
    Arithmetic a = merging(row, false);
    a.flush_to_zero = GetParam();
    const PlainReal<256> right = right_answer(row);
    double bound = bound_of(row, a), off = distance(merged_to_nearest(row, a, random), right);
    ASSERT_LE(off, bound) << "round " << round;
    nearest = std::fmax(nearest, off / bound);
    mixed += a.fixed_shift;
    if (round % 2 == 1) continue;
    a = merging(row, true);
    a.flush_to_zero = GetParam();
    bound = bound_of(row, a);
    off = distance(merged_as_high_as_possible(row, a, static_cast<double>(right)), right);
    ASSERT_LE(off, bound) << "round " << round << ", every error upward";
    extreme = std::fmax(extreme, off / bound);
  }
  EXPECT_GT(mixed, 600);
  std::printf("  worst share of the bound: %.3f to nearest, %.3f with every error upward\n", nearest, extreme);
  EXPECT_GT(extreme, 0.25) << "loose";
}

INSTANTIATE_TEST_SUITE_P(FlushToZero, RandomMerges, ::testing::Bool());

/// A row on which one term of the bound is what the errors are made of.
struct Term {
  std::string name;
  void (*leave_out)(MergeError&);
  void (*spoil)(Arithmetic&);
  std::function<MergedRow()> row;
};

/// A result of +1, `between` of them of the given score and value, and a result of -1 as heavy as the first.
MergedRow against_each_other(float score, float value, std::size_t between, float other_score, float other_value,
                             std::optional<float> shift = {}, std::optional<float> other_shift = {}) {
  std::vector<float> scores{score}, values{value};
  std::vector<KeyRange> ranges{{0, 1, shift}};
  for (std::size_t i = 0; i < between; ++i) {
    ranges.push_back({scores.size(), 1, other_shift});
    scores.push_back(other_score), values.push_back(other_value);
  }
  ranges.push_back({scores.size(), 1, shift});
  scores.push_back(score), values.push_back(-value);
  return MergedRow::of(scores, values, ranges);
}

/// One key, and `empty` ranges without.
MergedRow alone(float value, std::size_t empty) {
  std::vector<KeyRange> ranges{{0, 1, std::nullopt}};
  for (std::size_t i = 0; i < empty; ++i) ranges.push_back({1, 0, std::nullopt});
  return MergedRow::of({0}, {value}, ranges);
}

void precise(Arithmetic& a) { a.exp_ulp = a.log_ulp = 0.01; }

const Term terms[] = {
    {"at_maximum", [](MergeError& e) { e.at_maximum = 0; }, precise,
     [] { return against_each_other(1500, 1, 14, 1300, 0); }},
    {"at_distance", [](MergeError& e) { e.at_distance = 0; }, precise,
     [] {
       // The heavy key has no value and comes last.
       std::vector<KeyRange> ranges(14, {1, 0, std::nullopt});
       ranges[0] = {0, 1, std::nullopt};
       ranges.push_back({1, 1, std::nullopt});
       ranges.push_back({2, 1, std::nullopt});
       return MergedRow::of({-115, -115, 0}, {0x1p115F, -0x1p115F, 0}, ranges);
     }},
    {"of_logarithms", [](MergeError& e) { e.of_logarithms = 0; },
     [](Arithmetic& a) { a.exp_ulp = 0.01, a.log_ulp = 50; },
     [] { return against_each_other(0, 1, 0, 0, 0, -118.0F); }},
    {"of_window", [](MergeError& e) { e.of_window = 0; }, precise,
     [] { return against_each_other(0, 1, 1, -30, 0, -118.0F, 0.0F); }},
    {"of_exponentials", [](MergeError& e) { e.of_exponentials = 0; },
     [](Arithmetic& a) { a.exp_ulp = 50, a.log_ulp = 0.01; }, [] { return against_each_other(0, 1, 4, -20, 1); }},
    {"of_roundings", [](MergeError& e) { e.of_roundings = 0; }, precise, [] { return alone(1, 7); }},
    {"of_underflow", [](MergeError& e) { e.of_underflow = 0; }, precise, [] { return alone(0x1p-140F, 7); }},
    {"of_underflow_to_zero", [](MergeError& e) { e.of_underflow = 0; },
     [](Arithmetic& a) {
       precise(a);
       a.flush_to_zero = true;
     },
     [] { return alone(0x1p-120F, 7); }},
};

void PrintTo(const Term& term, std::ostream* out) { *out << term.name; }

class MergeTerm : public ::testing::TestWithParam<Term> {};

/// What is not here is of_keys: beside 8 roundings a merge, of which this kind of error reaches half, ln n would have
/// to pass 13, and `mixed`, which is no term but decides between two maxima.
TEST_P(MergeTerm, IsNeeded) {
  const Term& term = GetParam();
  const MergedRow row = term.row();
  Arithmetic a = merging(row, true);
  term.spoil(a);
  MergeError merges = merge_error(a, row.tensors.v.size());
  const double whole = bound_of(row, a);
  ASSERT_EQ(bound_of(row, a, merges), whole) << "the same bound by hand";
  const PlainReal<256> right = right_answer(row);
  const double off = distance(merged_as_high_as_possible(row, a, static_cast<double>(right)), right);
  EXPECT_LE(off, whole);
  term.leave_out(merges);
  const double less = bound_of(row, a, merges);
  EXPECT_GT(off, less) << "left out, it is not missed";
  std::printf("  %s: off by %.3g, bound %.3g, without %.3g\n", term.name.c_str(), off, whole, less);
}

INSTANTIATE_TEST_SUITE_P(Terms, MergeTerm, ::testing::ValuesIn(terms),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace nbx::oracle::testing
