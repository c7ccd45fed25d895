#include "oracle/mutant.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "problems.hpp"

namespace nbx::oracle::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The largest visibility over the outputs; negative where the mutant does not apply.
double seen(const AttentionInput& input, Mutant mutant, std::uint64_t position = 1) {
  const Arithmetic arithmetic = plain_f32();
  const Evaluation evaluation = evaluate(input, {&arithmetic, 1});
  const auto wrong = mutate(input, mutant, position);
  if (wrong.empty()) return -1;
  double most = 0;
  for (std::size_t output = 0; output < wrong.size(); ++output) {
    EXPECT_EQ(wrong[output].size(), evaluation.outputs[output].expected.value.size());
    most = std::max(most, visibility(evaluation.outputs[output], evaluation.outputs[output].bounds[0], wrong[output]));
  }
  return most;
}

/// Ordinary inputs on which every fault shows.
AttentionSpec ordinary() { return {.B = 2, .H = 4, .Hk = 2, .Tq = 5, .Tk = 130, .D = 16, .Dv = 8, .seed = 21}; }

TEST(Mutant, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const Mutant mutant : all_mutants()) names.insert(name(mutant));
  EXPECT_EQ(names.size(), 14u);
  EXPECT_EQ(all_mutants().size(), 14u);
  EXPECT_EQ(names.count("unknown"), 0u);
}

class EveryMutant : public ::testing::TestWithParam<Mutant> {};

TEST_P(EveryMutant, ShowsOnOrdinaryInputsWhereverItLies) {
  const Attention problem = make(ordinary());
  for (std::uint64_t position = 0; position < 12; ++position) {
    EXPECT_GT(seen(problem.input(), GetParam(), position), 1) << "position " << position;
  }
}

TEST_P(EveryMutant, ShowsUnderMasksAndBias) {
  for (const Causal causal : {Causal::top_left, Causal::bottom_right}) {
    AttentionSpec spec = ordinary();
    spec.Tq = 100, spec.B = 1, spec.causal = causal, spec.bias = AttentionSpec::Bias::full;
    const Attention problem = make(spec);
    if (GetParam() == Mutant::drop_last_key && causal == Causal::top_left) continue;  // nobody sees the last key
    if (GetParam() == Mutant::extra_zero_key && causal == Causal::top_left) continue;
    EXPECT_GT(seen(problem.input(), GetParam()), 1) << static_cast<int>(causal);
  }
}

/// Non-finite values that no row counts do not leak into a mutant.
TEST_P(EveryMutant, HiddenValuesDoNotShow) {
  AttentionSpec spec = ordinary();
  spec.B = 1;
  Attention clean = make(spec), dirty = make(spec);
  clean.lengths = dirty.lengths = {100};
  for (std::int64_t head = 0; head < spec.Hk; ++head) {
    for (std::int64_t j = 100; j < spec.Tk; ++j) {
      for (std::int64_t d = 0; d < spec.D; ++d)
        dirty.k.set((head * spec.Tk + j) * spec.D + d, d % 2 == 0 ? NAN : INFINITY);
      for (std::int64_t d = 0; d < spec.Dv; ++d) dirty.v.set((head * spec.Tk + j) * spec.Dv + d, NAN);
    }
  }
  EXPECT_EQ(mutate(clean.input(), GetParam(), 3)[0], mutate(dirty.input(), GetParam(), 3)[0]);
  EXPECT_EQ(mutate(clean.input(), GetParam(), 3)[1], mutate(dirty.input(), GetParam(), 3)[1]);
}

INSTANTIATE_TEST_SUITE_P(Mutants, EveryMutant, ::testing::ValuesIn(all_mutants().begin(), all_mutants().end()),
                         [](const auto& parameter) { return std::string(name(parameter.param)); });

// Inputs that provably cannot see a fault.

Attention with_zero_query() {
  Attention problem = make(ordinary());
  problem.q.fill([] { return 0.0; });
  return problem;
}

void copy_first_row(Tensor& tensor, std::int64_t first_head, std::int64_t heads) {
  const std::int64_t rows = tensor.shape[2], columns = tensor.shape[3];
  for (std::int64_t at = 0; at < heads * rows * columns; ++at) {
    tensor.set(first_head * rows * columns + at, tensor.at(first_head * rows * columns + at % columns));
  }
}

TEST(BlindInputs, ZeroQueriesHideScaleHeadDimAndMaximum) {
  const Attention problem = with_zero_query();
  for (const Mutant mutant : {Mutant::scale_missing, Mutant::scale_twice, Mutant::half_head_dim, Mutant::no_rescale,
                              Mutant::ignore_query_and_key, Mutant::lse_without_max, Mutant::swapped_key_tiles}) {
    EXPECT_LE(seen(problem.input(), mutant), 1) << name(mutant);
  }
  for (const Mutant mutant : {Mutant::drop_last_key, Mutant::extra_zero_key, Mutant::zero_row}) {
    EXPECT_GT(seen(problem.input(), mutant), 1) << name(mutant);
  }
}

TEST(BlindInputs, EqualKeysHideSwappedTilesAndEqualSplits) {
  AttentionSpec spec = ordinary();
  spec.Tk = 128;
  Attention problem = make(spec);
  for (std::int64_t head = 0; head < spec.B * spec.Hk; ++head) copy_first_row(problem.k, head, 1);
  EXPECT_LE(seen(problem.input(), Mutant::swapped_key_tiles), 1);
  EXPECT_LE(seen(problem.input(), Mutant::unweighted_split_merge), 1);
  EXPECT_LE(seen(problem.input(), Mutant::no_rescale), 1);
}

TEST(BlindInputs, EqualValuesHideAStaleRow) {
  Attention problem = make(ordinary());
  for (std::int64_t head = 0; head < 4; ++head) copy_first_row(problem.v, head, 1);
  EXPECT_LE(seen(problem.input(), Mutant::stale_value_row), 1);
}

TEST(BlindInputs, EqualHeadsHideAWrongOne) {
  Attention problem = make(ordinary());
  for (Tensor* tensor : {&problem.k, &problem.v}) {
    const std::int64_t size = tensor->shape[2] * tensor->shape[3];
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t at = 0; at < size; ++at) tensor->set((2 * b + 1) * size + at, tensor->at(2 * b * size + at));
    }
  }
  EXPECT_LE(seen(problem.input(), Mutant::wrong_gqa_head), 1);
}

TEST(BlindInputs, LargeScoresHideAnExtraZeroKey) {
  Attention problem = make(ordinary());
  problem.q.fill([] { return 16.0; });
  problem.k.fill([] { return 8.0; });  // every logit is 512
  EXPECT_LE(seen(problem.input(), Mutant::extra_zero_key), 1);
}

TEST(BlindInputs, AWeightlessLastKeyHidesItsLoss) {
  AttentionSpec spec = ordinary();
  Attention problem = make(spec);
  problem.q.fill([] { return 4.0; });
  for (std::int64_t head = 0; head < spec.B * spec.Hk; ++head) {
    for (std::int64_t d = 0; d < spec.D; ++d) problem.k.set(((head + 1) * spec.Tk - 1) * spec.D + d, -60);
  }
  EXPECT_LE(seen(problem.input(), Mutant::drop_last_key), 1);
}

TEST(BlindInputs, AMaximumInTheFirstTileHidesAMissingRescale) {
  AttentionSpec spec = ordinary();
  Attention problem = make(spec);
  problem.q.fill([] { return 1.0; });
  for (std::int64_t head = 0; head < spec.B * spec.Hk; ++head) {
    for (std::int64_t d = 0; d < spec.D; ++d) problem.k.set(head * spec.Tk * spec.D + d, 5);
  }
  EXPECT_LE(seen(problem.input(), Mutant::no_rescale), 1);
}

TEST(Mutant, WhatCannotBeIsEmpty) {
  const Attention single = make({.Tq = 3, .Tk = 1, .D = 1, .Dv = 2});
  for (const Mutant mutant : {Mutant::drop_tile, Mutant::scale_missing, Mutant::scale_twice, Mutant::half_head_dim,
                              Mutant::no_rescale, Mutant::unweighted_split_merge, Mutant::swapped_key_tiles,
                              Mutant::stale_value_row, Mutant::wrong_gqa_head, Mutant::ignore_query_and_key}) {
    EXPECT_TRUE(mutate(single.input(), mutant, 1).empty()) << name(mutant);
  }
  for (const Mutant mutant :
       {Mutant::drop_last_key, Mutant::extra_zero_key, Mutant::zero_row, Mutant::lse_without_max}) {
    EXPECT_FALSE(mutate(single.input(), mutant, 1).empty()) << name(mutant);
  }
  Attention hidden = make(ordinary());
  hidden.lengths = {0, 0};
  for (const Mutant mutant : all_mutants()) EXPECT_TRUE(mutate(hidden.input(), mutant, 1).empty()) << name(mutant);
  // One query head per KV head can still take the wrong one.
  EXPECT_FALSE(mutate(make({.H = 2, .Hk = 2, .Tk = 3}).input(), Mutant::wrong_gqa_head, 1).empty());
}

/// Rows of O that a mutant changes.
std::set<std::int64_t> changed_rows(const AttentionInput& input, Mutant mutant, std::uint64_t position) {
  const Arithmetic arithmetic = plain_f32();
  const Evaluation evaluation = evaluate(input, {&arithmetic, 1});
  const auto wrong = mutate(input, mutant, position);
  std::set<std::int64_t> rows;
  for (std::size_t at = 0; at < wrong[0].size(); ++at) {
    const double error = std::fabs(wrong[0][at] - evaluation.outputs[0].expected.value[at]);
    if (error > 1e-9) rows.insert(static_cast<std::int64_t>(at) / input.v.shape[3]);
  }
  return rows;
}

TEST(Mutant, ThePositionDrawsThePlace) {
  const Attention problem = make(ordinary());
  std::set<std::int64_t> zeroed, heads;
  std::set<std::vector<double>> tiles, stale;
  for (std::uint64_t position = 0; position < 60; ++position) {
    const auto rows = changed_rows(problem.input(), Mutant::zero_row, position);
    ASSERT_EQ(rows.size(), 1u);
    zeroed.insert(*rows.begin());
    for (const std::int64_t row : changed_rows(problem.input(), Mutant::wrong_gqa_head, position)) {
      heads.insert(row / 5 % 4);
    }
    tiles.insert(mutate(problem.input(), Mutant::drop_tile, position)[0]);
    stale.insert(mutate(problem.input(), Mutant::stale_value_row, position)[0]);
  }
  EXPECT_GT(zeroed.size(), 20u);  // of 40
  EXPECT_EQ(heads.size(), 4u);
  EXPECT_EQ(tiles.size(), 3u);
  EXPECT_GT(stale.size(), 30u);  // of 130
  EXPECT_EQ(mutate(problem.input(), Mutant::drop_tile, 5), mutate(problem.input(), Mutant::drop_tile, 5));
}

TEST(Mutant, FaultsOfMemoryStayWhereTheyLie) {
  const Attention problem = make(ordinary());
  EXPECT_EQ(changed_rows(problem.input(), Mutant::wrong_gqa_head, 1).size(), 10u) << "one head of both batch entries";
  EXPECT_EQ(changed_rows(problem.input(), Mutant::drop_last_key, 1).size(), 40u);
}

// Softmax.

double seen(const SoftmaxInput& input, Mutant mutant) {
  const Arithmetic arithmetic = plain_f32();
  const Evaluation evaluation = evaluate(input, {&arithmetic, 1});
  const auto wrong = mutate(input, mutant, 2);
  return wrong.empty() ? -1 : visibility(evaluation.outputs[0], evaluation.outputs[0].bounds[0], wrong[0]);
}

TEST(SoftmaxMutant, ShowsOnOrdinaryInputs) {
  Tensor x(Format::f32, {6, 130, 3});
  std::mt19937_64 random(3);
  x.fill([&] { return std::normal_distribution<double>()(random); });
  for (const bool log : {false, true}) {
    const SoftmaxInput input{.x = x.view(), .axis = 1, .log = log};
    for (const Mutant mutant : {Mutant::drop_last_key, Mutant::extra_zero_key, Mutant::drop_tile, Mutant::no_rescale,
                                Mutant::zero_row, Mutant::ignore_query_and_key}) {
      EXPECT_GT(seen(input, mutant), 1) << name(mutant) << log;
    }
    EXPECT_EQ(seen(input, Mutant::lse_without_max) > 1, log);
    for (const Mutant mutant : {Mutant::scale_missing, Mutant::wrong_gqa_head, Mutant::stale_value_row}) {
      EXPECT_TRUE(mutate(input, mutant, 1).empty());
    }
  }
}

TEST(SoftmaxMutant, BlindInputs) {
  Tensor x(Format::f32, {4, 128});
  x.fill([] { return 300.0; });
  for (const bool log : {false, true}) {
    const SoftmaxInput input{.x = x.view(), .log = log};
    EXPECT_LE(seen(input, Mutant::extra_zero_key), 1);
    EXPECT_LE(seen(input, Mutant::no_rescale), 1);
    EXPECT_LE(seen(input, Mutant::ignore_query_and_key), 1);
    EXPECT_GT(seen(input, Mutant::drop_last_key), 1);
  }
}

// visibility() itself.

struct Judged {
  Evaluation::Output output{"o", {3}, {{1, 2, 3}, {0, 0, 1}, {Class::finite, Class::finite, Class::finite}}, {}};
  Bounds bounds{{0.5, 0, 1}, {Class::finite, Class::finite, Class::finite}, {0, 0, 0}};
  double of(const std::vector<double>& mutant) const { return visibility(output, bounds, mutant); }
};

TEST(Visibility, IsTheLargestMultipleOfBoundAndRadius) {
  Judged judged;
  EXPECT_EQ(judged.of({1, 2, 3}), 0);
  EXPECT_EQ(judged.of({2, 2, 3}), 2);
  EXPECT_EQ(judged.of({1.25, 2, 6}), 1.5);
  EXPECT_EQ(judged.of({1, 2.5, 3}), infinity) << "a bound of 0";
  EXPECT_EQ(judged.of({1, NAN, 3}), infinity);
  EXPECT_EQ(judged.of({1, 2, -infinity}), infinity);
}

TEST(Visibility, RestsOnFiniteClosedElementsAlone) {
  Judged judged;
  judged.bounds.open[0] = 1;
  EXPECT_EQ(judged.of({100, 2, 3}), 0);
  judged.output.expected.classes[2] = Class::not_a_number;
  EXPECT_EQ(judged.of({100, 2, 300}), 0);
  judged.output.expected.classes[1] = Class::finite | Class::not_a_number;
  EXPECT_EQ(judged.of({100, 200, 300}), 0);
  EXPECT_EQ(Judged().of({1, 2}), 0) << "another size is no mutant of this output";
  judged = Judged();
  judged.bounds.bound[0] = NAN;
  EXPECT_EQ(judged.of({100, 2, 3}), 0) << "a broken bound gives no power";
}

}  // namespace
}  // namespace nbx::oracle::testing
