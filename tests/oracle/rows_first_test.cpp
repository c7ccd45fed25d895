// Rows-first and paged attention: against the definition, written once more as loops over numbers of 256 bits.
#include "oracle/rows_first.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "oracle/paged.hpp"
#include "oracle/plain.hpp"
#include "problems.hpp"

namespace nbx::oracle::testing {
namespace {

using Real = PlainReal<256>;

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor drawn(Format format, std::vector<std::int64_t> shape, std::mt19937_64& random) {
  Tensor tensor(format, std::move(shape));
  std::normal_distribution<double> normal;
  tensor.fill([&] { return normal(random); });
  return tensor;
}

/// D is a power of four, so that its scale takes that of a KV head exactly. Two streams of 13 places, rows that see
/// none, a part of the first chunk, whole chunks and all.
struct Rows {
  static constexpr std::int64_t rows = 5, H = 4, Hk = 2, D = 16, capacity = 13, chunks = 4;
  Tensor q, k, v;
  RowsFirstInput input;

  explicit Rows(Format cache) {
    std::mt19937_64 random(7);
    q = drawn(Format::bf16, {rows, H, D}, random);
    k = drawn(cache, {2, Hk, capacity, D}, random);
    v = drawn(cache, {2, Hk, capacity, D}, random);
    refresh();
    if (cache == Format::e4m3) {
      input.k_scale = {0.75F, 1.25F};
      input.v_scale = {0.5F, 2.75F};
    }
    input.stream = {0, 1, 1, 0, 1};
    input.limit = {0, 3, 8, 9, 13};
    input.width = {4, 4, 4, 4, 8};
    input.chunks = chunks;
  }
  void refresh() {
    input.q = q.view();
    input.k = k.view();
    input.v = v.view();
  }
};

/// What a range of keys of one row and head comes to.
struct Part {
  Real m = -infinity, l = 0;
  std::vector<Real> o;
};

Part part_of(const RowsFirstInput& in, std::int64_t row, std::int64_t head, std::int64_t first, std::int64_t last) {
  const std::int64_t H = in.q.shape[1], Hk = in.k.shape[1], D = in.q.shape[2], capacity = in.k.shape[2];
  const std::int64_t kv = in.stream[static_cast<std::size_t>(row)] * Hk + head / (H / Hk);
  const auto scale_of = [&](const std::vector<float>& scales) {
    return Real(scales.empty() ? 1.0F : scales[static_cast<std::size_t>(head / (H / Hk))]);
  };
  const Real scale = Real(static_cast<float>(1 / std::sqrt(static_cast<double>(D)))) * scale_of(in.k_scale);
  Part part;
  part.o.assign(static_cast<std::size_t>(D), Real(0));
  std::vector<Real> scores;
  for (std::int64_t j = first; j < last; ++j) {
    Real dot = 0;
    for (std::int64_t d = 0; d < D; ++d)
      dot += Real(in.q.at((row * H + head) * D + d)) * Real(in.k.at((kv * capacity + j) * D + d));
    scores.push_back(dot * scale);
    part.m = std::max(part.m, scores.back());
  }
  for (std::int64_t j = first; j < last; ++j) {
    const Real weight = exp(scores[static_cast<std::size_t>(j - first)] - part.m);
    part.l += weight;
    for (std::int64_t d = 0; d < D; ++d)
      part.o[static_cast<std::size_t>(d)] += weight * Real(in.v.at((kv * capacity + j) * D + d)) * scale_of(in.v_scale);
  }
  return part;
}

void expect_admitted(const Evaluation::Output& output, const Refine& refine, std::size_t index, std::int64_t element,
                     const Real& right, bool empty) {
  const auto at = static_cast<std::size_t>(element);
  SCOPED_TRACE(::testing::Message() << output.name << " " << element);
  EXPECT_TRUE(admits(output.expected, element, right)) << output.expected.value[at] << ", " << right;
  if (empty) return;
  EXPECT_LT(output.expected.radius[at], 1e-11);
  for (const int bits : {106, 256}) {
    const Refined refined = refine(index, element, bits);
    const Real value = Real(refined.value) + Real(refined.low);
    EXPECT_LE(abs(value - right), Real(refined.low_radius) + Real(0x1p-190));
    EXPECT_LT(refined.low_radius, 1e-24);
  }
}

TEST(RowsFirst, OutputsAndPartialsAreTheDefinitions) {
  for (const Format cache : {Format::bf16, Format::e4m3}) {
    const Rows problem(cache);
    const RowsFirstInput& in = problem.input;
    const Arithmetic arithmetic = plain_f32();
    const Evaluation evaluation = evaluate(in, {&arithmetic, 1});
    const Refine refine = refiner(in);
    ASSERT_EQ(evaluation.outputs.size(), 4u);
    for (std::int64_t row = 0; row < Rows::rows; ++row)
      for (std::int64_t head = 0; head < Rows::H; ++head) {
        const std::int64_t limit = in.limit[static_cast<std::size_t>(row)], scalar = row * Rows::H + head;
        const Part whole = part_of(in, row, head, 0, limit);
        for (std::int64_t d = 0; d < Rows::D; ++d)
          expect_admitted(evaluation.outputs[0], refine, 0, scalar * Rows::D + d,
                          limit == 0 ? Real(0) : Real(whole.o[static_cast<std::size_t>(d)] / whole.l), limit == 0);
        for (std::int64_t chunk = 0; chunk < Rows::chunks; ++chunk) {
          const std::int64_t width = in.width[static_cast<std::size_t>(row)], at = scalar * Rows::chunks + chunk;
          const std::int64_t first = std::min(chunk * width, limit), last = std::min(first + width, limit);
          const Part part = part_of(in, row, head, first, last);
          expect_admitted(evaluation.outputs[1], refine, 1, at, part.m, first == last);
          expect_admitted(evaluation.outputs[2], refine, 2, at, part.l, first == last);
          for (std::int64_t d = 0; d < Rows::D; ++d)
            expect_admitted(evaluation.outputs[3], refine, 3, at * Rows::D + d, part.o[static_cast<std::size_t>(d)],
                            first == last);
        }
      }
  }
}

TEST(RowsFirst, ANanKeySpoilsItsChunkAndTheRowsThatSeeIt) {
  Rows problem(Format::bf16);
  problem.k.set(((1 * Rows::Hk + 0) * Rows::capacity + 9) * Rows::D + 2, NAN);  // stream 1, KV head 0, key 9
  problem.refresh();
  const Arithmetic arithmetic = plain_f32();
  const Evaluation evaluation = evaluate(problem.input, {&arithmetic, 1});
  for (std::int64_t row = 0; row < Rows::rows; ++row)
    for (std::int64_t head = 0; head < Rows::H; ++head) {
      const bool sees = row == 4 && head < 2;  // limit 13; rows 1 and 2 of that stream end before key 9
      const auto at = static_cast<std::size_t>((row * Rows::H + head) * Rows::chunks + 1);
      const auto first = static_cast<std::size_t>((row * Rows::H + head) * Rows::D);
      EXPECT_EQ((evaluation.outputs[0].expected.classes[first] & not_a_number) != 0, sees) << row << " " << head;
      EXPECT_EQ((evaluation.outputs[1].expected.classes[at] & not_a_number) != 0, sees) << row << " " << head;
      EXPECT_EQ(evaluation.outputs[1].expected.classes[at - 1] & not_a_number, 0) << "another chunk";
    }
}

/// All but the row that the mutant clears is as it should be, scales of the KV heads included.
TEST(RowsFirst, MutantsTakeTheScales) {
  Rows problem(Format::e4m3);
  problem.input.stream.assign(Rows::rows, 0);
  problem.input.limit = {1, 3, 8, 9, 13};
  const Arithmetic arithmetic = plain_f32();
  const Evaluation evaluation = evaluate(problem.input, {&arithmetic, 1});
  const std::vector<std::vector<double>> wrong = mutate(problem.input, Mutant::zero_row, 3);
  ASSERT_EQ(wrong.size(), 4u);
  std::int64_t cleared = 0;
  for (std::size_t i = 0; i < wrong[0].size(); i += Rows::D) {
    if (wrong[0][i] == 0 && wrong[0][i + 1] == 0) {
      ++cleared;
      continue;
    }
    for (std::size_t d = i; d < i + Rows::D; ++d)
      EXPECT_NEAR(wrong[0][d], evaluation.outputs[0].expected.value[d], 1e-12) << d;
  }
  EXPECT_EQ(cleared, 1);
}

/// Three sequences of 5, 0 and 8 keys in pages of 4, in no order, the first page of two of them shared.
struct Paged {
  Tensor q, k_pool, v_pool;
  PagedInput input;

  Paged() {
    std::mt19937_64 random(11);
    q = drawn(Format::f32, {3, 2, 1, 3}, random);
    k_pool = drawn(Format::f32, {5, 2, 4, 3}, random);
    v_pool = drawn(Format::f32, {5, 2, 4, 2}, random);
    input = {.q = q.view(),
             .k_pool = k_pool.view(),
             .v_pool = v_pool.view(),
             .table = {3, 1, -1, -1, 3, 0},
             .lengths = {5, 0, 8},
             .max_pages = 2,
             .scale = {}};
  }
};

TEST(Paged, GathersEachSequenceThroughItsTable) {
  const Paged paged;
  const GatheredCache cache = gather(paged.input);
  const AttentionInput attention = over(paged.input, cache);
  EXPECT_EQ(attention.k.shape, (std::vector<std::int64_t>{3, 2, 8, 3}));
  EXPECT_EQ(attention.v.shape, (std::vector<std::int64_t>{3, 2, 8, 2}));
  EXPECT_EQ(attention.lengths, paged.input.lengths);
  for (std::int64_t b = 0; b < 3; ++b)
    for (std::int64_t h = 0; h < 2; ++h)
      for (std::int64_t j = 0; j < paged.input.lengths[static_cast<std::size_t>(b)]; ++j) {
        const std::int64_t page = paged.input.table[static_cast<std::size_t>(b * 2 + j / 4)];
        for (std::int64_t d = 0; d < 3; ++d)
          EXPECT_EQ(attention.k.at(((b * 2 + h) * 8 + j) * 3 + d),
                    paged.k_pool.at(((page * 2 + h) * 4 + j % 4) * 3 + d));
        for (std::int64_t d = 0; d < 2; ++d)
          EXPECT_EQ(attention.v.at(((b * 2 + h) * 8 + j) * 2 + d),
                    paged.v_pool.at(((page * 2 + h) * 4 + j % 4) * 2 + d));
      }
}

TEST(Paged, IsAttentionOverTheGatheredSequence) {
  const Paged paged;
  const GatheredCache cache = gather(paged.input);
  const Arithmetic arithmetic = plain_f32();
  const Evaluation evaluation = evaluate(over(paged.input, cache), {&arithmetic, 1});
  const auto exact = plain<256>(over(paged.input, cache));
  for (std::size_t output = 0; output < 2; ++output)
    for (std::size_t i = 0; i < exact[output].size(); ++i)
      EXPECT_TRUE(admits(evaluation.outputs[output].expected, static_cast<std::int64_t>(i), exact[output][i]));
  // The sequence without keys.
  for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(evaluation.outputs[0].expected.classes[i], exact_plus_zero);
}

TEST(Paged, RefusesWhatLeadsNowhere) {
  Paged paged;
  paged.input.table[1] = 5;
  EXPECT_THROW(gather(paged.input), std::invalid_argument);
  paged.input.table[1] = -1;
  EXPECT_THROW(gather(paged.input), std::invalid_argument);
  paged.input.table[1] = 1;
  paged.input.lengths[2] = 9;
  EXPECT_THROW(gather(paged.input), std::invalid_argument);
}

}  // namespace
}  // namespace nbx::oracle::testing
