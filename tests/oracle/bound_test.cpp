// The bounds against real arithmetic: what a kernel computes as it declares lies within, what it computes more coarsely
// does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "emulated_kernel.hpp"
#include "oracle/verdict.hpp"
#include "problems.hpp"

namespace nbx::oracle::testing {
namespace {

struct Way {
  std::string name;
  Format inputs;
  Emulation emulation;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

Arithmetic in_f32() { return {}; }

Arithmetic with_units(Dot dot, Format format, Format p, Format output) {
  Arithmetic a;
  dot.operand = format;
  a.qk = a.pv = dot;
  a.p_format = p;
  a.output = output;
  return a;
}

Dot fused(int group, int kept_bits, int result_precision) {
  return {.unit = Dot::Unit::fused_group, .group = group, .kept_bits = kept_bits, .result_precision = result_precision};
}

/// One of each way that the project's kernels, or others, go.
const std::vector<Way>& ways() {
  static const std::vector<Way> all = [] {
    std::vector<Way> ways;
    const auto add = [&](std::string name, Format inputs, Arithmetic arithmetic, std::int64_t tile = 0) {
      ways.push_back({std::move(name), inputs, {.arithmetic = arithmetic, .tile = tile, .seed = ways.size() + 1}});
    };
    add("f32", Format::f32, in_f32());
    Arithmetic a = in_f32();
    a.log2_at = Arithmetic::Log2At::difference;
    add("f32_streaming_exp2_of_difference", Format::f32, a, 5);
    a = in_f32();
    a.pv.restart = 7;  // each tile's P·V starts from zero and is added to O, as flash does
    add("f32_streaming_tiles_added", Format::f32, a, 7);
    a.output = Format::f16;
    add("f16_streaming_tiles_added", Format::f16, a, 7);
    a = in_f32();
    a.log2_at = Arithmetic::Log2At::difference;
    a.log2_at = Arithmetic::Log2At::score;
    a.normalise = Arithmetic::Normalise::reciprocal;
    a.qk.chains = a.pv.chains = 4;
    add("f32_four_chains_exp2_of_score_reciprocal", Format::f32, a);
    a = in_f32();
    a.normalise = Arithmetic::Normalise::weights;
    a.scale_at = Arithmetic::ScaleAt::query;
    a.exp_ulp = 2.5, a.log_ulp = 3;
    add("f32_normalised_weights_scaled_query", Format::f32, a);
    a = in_f32();
    a.flush_to_zero = true;
    add("f32_flush_to_zero", Format::f32, a, 7);
    a = in_f32();
    a.qk.unit = a.pv.unit = Dot::Unit::any_order;
    add("f32_any_order", Format::f32, a);
    a.qk.products_exact = a.pv.products_exact = true;
    a.qk.operand = a.pv.operand = a.p_format = a.output = Format::bf16;
    add("bf16_any_order_exact_products", Format::bf16, a, 8);
    a = in_f32();
    a.p_format = a.output = Format::bf16;
    a.normalise = Arithmetic::Normalise::weights;
    add("bf16_math", Format::bf16, a);
    a = in_f32();
    a.p_format = a.output = Format::f16;
    add("f16_math", Format::f16, a, 6);
    add("bf16_unit", Format::bf16, with_units(fused(16, 25, 24), Format::bf16, Format::bf16, Format::bf16), 16);
    a = with_units(fused(16, 25, 24), Format::f16, Format::f16, Format::f16);
    a.scale_at = Arithmetic::ScaleAt::query;
    a.log2_at = Arithmetic::Log2At::score;
    add("f16_unit_scaled_query", Format::f16, a, 8);
    for (const Format format : {Format::bf16, Format::f16}) {
      a = with_units(fused(16, 25, 24), format, format, format);
      a.log2_at = Arithmetic::Log2At::whole;
      a.normalise = Arithmetic::Normalise::reciprocal;
      a.pv.restart = 8;  // as the emulation adds up its tiles
      a.exp_ulp = 7.2;
      add(format == Format::f16 ? "f16_unit_whole_shift" : "bf16_unit_whole_shift", format, a, 8);
    }
    a = in_f32();
    a.log2_at = Arithmetic::Log2At::whole;
    a.exp_ulp = 54.1;
    add("f32_whole_shift", Format::f32, a, 5);
    add("tf32_unit", Format::f32, with_units(fused(8, 25, 24), Format::tf32, Format::f32, Format::f32), 8);
    add("e4m3_unit", Format::e4m3, with_units(fused(32, 13, 14), Format::e4m3, Format::e4m3, Format::bf16), 32);
    Dot by_f16 = fused(16, 25, 24);
    by_f16.restart = 32, by_f16.subnormals_as_normal = true;
    a = with_units(by_f16, Format::e4m3, Format::e4m3, Format::bf16);
    a.p_scale = 256;
    add("e4m3_unit_by_f16_scaled_weights", Format::e4m3, a, 64);
    Dot grouped{.unit = Dot::Unit::grouped_f32, .group = 4};
    add("f16_m8n8k4", Format::f16, with_units(grouped, Format::f16, Format::f16, Format::f16), 8);
    Dot split{.unit = Dot::Unit::split_f16, .group = 4, .restart = 8};
    add("f32_split_in_f16", Format::f32, with_units(split, Format::f32, Format::f32, Format::f32), 8);
    return ways;
  }();
  return all;
}

/// A problem for one way: short rows of every kind, sometimes masked, sometimes with a scale of its own.
AttentionSpec draw_spec(std::mt19937_64& random, Kind kind, Format format) {
  AttentionSpec spec = random_spec(random, kind);
  spec.format = format;
  spec.B = 1, spec.Hk = 1, spec.H = 1 + static_cast<std::int64_t>(random() % 2);
  spec.Tq = 1 + static_cast<std::int64_t>(random() % 3);
  spec.Tk = 1 + static_cast<std::int64_t>(random() % 40);
  spec.D = 1 + static_cast<std::int64_t>(random() % 34);
  spec.Dv = 1 + static_cast<std::int64_t>(random() % 6);
  return spec;
}

Attention draw_problem(std::mt19937_64& random, const AttentionSpec& spec) {
  Attention problem = make(spec);
  constexpr float scales[] = {0.0F, -0.75F, 1.0F, 0.125F, 3.0F};
  if (random() % 3 == 0) problem.scale = scales[random() % 5];
  return problem;
}

/// Judges what `does` computes by the bounds of what `says` declares. One judgement per output.
std::vector<Judgement> judged(const Attention& problem, const Arithmetic& says, const Emulation& does) {
  const AttentionInput input = problem.input();
  const Evaluation evaluation = evaluate(input, {&says, 1});
  for (const Evaluation::Output& output : evaluation.outputs) {
    for (const double bound : output.bounds[0].bound) EXPECT_GE(bound, 0) << "NaN is no bound";
    for (const double radius : output.expected.radius) EXPECT_GE(radius, 0) << "NaN is no radius";
  }
  const auto actual = emulate(input, does);
  std::vector<Judgement> judgements;
  for (std::size_t output = 0; output < actual.size(); ++output) {
    const Format format = output == 0 ? says.output : Format::f32;
    judgements.push_back(judge(evaluation.outputs[output], evaluation.outputs[output].bounds[0],
                               pack(format, actual[output]), format, refiner(input), output));
  }
  return judgements;
}

class HonestKernel : public ::testing::TestWithParam<Way> {};

TEST_P(HonestKernel, StaysWithinItsBound) {
  const Way& way = GetParam();
  std::mt19937_64 random(100 + way.emulation.seed);
  double worst = 0;
  std::string worst_case;
  std::int64_t elements = 0, open = 0;
  for (const Kind kind : all_kinds()) {
    for (int round = 0; round < 30; ++round) {
      const AttentionSpec spec = draw_spec(random, kind, way.inputs);
      const Attention problem = draw_problem(random, spec);
      Emulation emulation = way.emulation;
      emulation.seed = random();
      const auto judgements = judged(problem, declared(emulation, spec.Tk), emulation);
      for (std::size_t output = 0; output < judgements.size(); ++output) {
        const Judgement& judgement = judgements[output];
        ASSERT_TRUE(judgement.holds()) << describe(spec) << ", scale " << problem.scale.value_or(0)
                                       << (problem.scale ? "" : " by default") << ": output " << output << ", "
                                       << judgement.wrong.size() << " of " << judgement.elements
                                       << " wrong, worst element " << judgement.worst << " at " << judgement.worst_share
                                       << " of its bound" << (judgement.undecided ? ", undecided" : "");
        elements += judgement.elements;
        open += judgement.overflow_open;
        if (judgement.worst_share > worst) worst = judgement.worst_share, worst_case = describe(spec);
      }
    }
  }
  EXPECT_GT(elements, 1000);
  EXPECT_LT(open, elements / 2);
  EXPECT_GT(worst, 0.02) << "loose";
  RecordProperty("worst_share", std::to_string(worst));
  RecordProperty("worst_case", worst_case);
  std::printf("  %s: worst share %.3f (%s), %lld elements, %lld overflow-open\n", way.name.c_str(), worst,
              worst_case.c_str(), static_cast<long long>(elements), static_cast<long long>(open));
}

INSTANTIATE_TEST_SUITE_P(Ways, HonestKernel, ::testing::ValuesIn(ways()),
                         [](const auto& parameter) { return parameter.param.name; });

/// 512 keys and subnormal values: the case where a bound of relative errors alone is exceeded 2.3 times.
TEST(HonestKernelOf, ALongSubnormalChainStaysWithinItsBound) {
  for (const std::int64_t tile : {std::int64_t{0}, std::int64_t{64}}) {
    const AttentionSpec spec{.Tq = 4, .Tk = 512, .D = 8, .Dv = 16, .kind = Kind::subnormal, .seed = 8};
    const Attention problem = make(spec);
    const Emulation emulation{.arithmetic = in_f32(), .tile = tile};
    for (const Judgement& judgement : judged(problem, declared(emulation, spec.Tk), emulation)) {
      EXPECT_TRUE(judgement.holds()) << judgement.worst_share;
    }
  }
}

/// One thing done more coarsely than declared.
struct Coarser {
  std::string name;
  std::string way;
  void (*spoil)(Emulation&);
  std::int64_t keys;
};

const Coarser coarser[] = {
    {"p_in_f16_for_f32", "f32", [](Emulation& e) { e.arithmetic.p_format = Format::f16; }, 40},
    {"p_in_bf16_for_f16", "f16_math", [](Emulation& e) { e.arithmetic.p_format = Format::bf16; }, 40},
    {"p_in_e4m3_for_bf16", "bf16_math", [](Emulation& e) { e.arithmetic.p_format = Format::e4m3; }, 40},
    {"keys_in_bf16_for_f32", "f32", [](Emulation& e) { e.arithmetic.qk.operand = Format::bf16; }, 40},
    {"keys_in_tf32_for_f32", "f32", [](Emulation& e) { e.arithmetic.qk.operand = Format::tf32; }, 40},
    {"values_in_tf32_for_f32", "f32", [](Emulation& e) { e.arithmetic.pv.operand = Format::tf32; }, 40},
    {"scores_accumulated_in_11_bits", "f32_any_order", [](Emulation& e) { e.arithmetic.qk.u = 0x1p-11; }, 40},
    {"values_accumulated_in_11_bits", "f32_any_order", [](Emulation& e) { e.arithmetic.pv.u = 0x1p-11; }, 40},
    {"output_in_bf16_for_f16", "f16_math", [](Emulation& e) { e.arithmetic.output = Format::bf16; }, 40},
    {"exp_off_by_400_ulp", "f32", [](Emulation& e) { e.arithmetic.exp_ulp = 400; }, 40},
    {"log_off_by_40_ulp", "f32", [](Emulation& e) { e.arithmetic.log_ulp = 40; }, 40},
    {"weights_in_e5m2", "e4m3_unit_by_f16_scaled_weights", [](Emulation& e) { e.arithmetic.p_format = Format::e5m2; },
     2},
    {"one_part_for_two", "f32_split_in_f16",
     [](Emulation& e) {
       e.arithmetic.qk.unit = Dot::Unit::grouped_f32;
       e.arithmetic.qk.operand = Format::f16;
     },
     40},
    {"unit_with_9_bits_for_25", "bf16_unit", [](Emulation& e) { e.arithmetic.qk.kept_bits = 9; }, 40},
};

void PrintTo(const Coarser& fault, std::ostream* out) { *out << fault.name; }

class CoarserKernel : public ::testing::TestWithParam<Coarser> {};

TEST_P(CoarserKernel, LeavesItsBound) {
  const Coarser& fault = GetParam();
  const Way* way = nullptr;
  for (const Way& one : ways()) way = one.name == fault.way ? &one : way;
  ASSERT_NE(way, nullptr);
  std::mt19937_64 random(55);
  std::size_t wrong = 0;
  for (int round = 0; round < 20; ++round) {
    const AttentionSpec spec{.Tq = 4, .Tk = fault.keys, .D = 16, .Dv = 8, .format = way->inputs, .seed = random()};
    Emulation honest = way->emulation, coarse = way->emulation;
    honest.seed = coarse.seed = random();
    fault.spoil(coarse);
    for (const Judgement& judgement : judged(make(spec), declared(honest, spec.Tk), coarse)) {
      wrong += judgement.wrong.size();
      EXPECT_FALSE(judgement.undecided);
    }
    for (const Judgement& judgement : judged(make(spec), declared(honest, spec.Tk), honest)) {
      EXPECT_TRUE(judgement.holds()) << "the honest one, on the same inputs";
    }
  }
  EXPECT_GT(wrong, 0u);
}

INSTANTIATE_TEST_SUITE_P(Faults, CoarserKernel, ::testing::ValuesIn(coarser),
                         [](const auto& parameter) { return parameter.param.name; });

/// Truncation where rounding is declared.
TEST(CoarserKernelOf, TruncatedOutputLeavesItsBound) {
  const AttentionSpec spec{.Tq = 8, .Tk = 40, .D = 16, .Dv = 16, .format = Format::bf16, .seed = 6};
  const Attention problem = make(spec);
  Emulation emulation{.arithmetic = in_f32()};
  const auto exact = emulate(problem.input(), emulation);  // fp32 outputs
  emulation.arithmetic.output = Format::bf16;
  const Arithmetic says = declared(emulation, spec.Tk);
  const Evaluation evaluation = evaluate(problem.input(), {&says, 1});
  std::vector<double> rounded, truncated;
  for (const double o : exact[0]) {
    rounded.push_back(narrow(Format::bf16, o));
    const double unit = 2 * half_ulp(Format::bf16, o);
    truncated.push_back(std::trunc(o / unit) * unit);
  }
  const auto holds = [&](const std::vector<double>& o) {
    return judge(evaluation.outputs[0], evaluation.outputs[0].bounds[0], pack(Format::bf16, o), Format::bf16,
                 refiner(problem.input()), 0)
        .holds();
  };
  EXPECT_TRUE(holds(rounded));
  EXPECT_FALSE(holds(truncated));
}

TEST(BoundParts, AddUpToTheBound) {
  for (const Way& way : ways()) {
    const AttentionSpec spec{.Tq = 2, .Tk = 20, .D = 8, .Dv = 3, .format = way.inputs, .seed = 12};
    const Attention problem = make(spec);
    const Arithmetic says = declared(way.emulation, spec.Tk);
    const Evaluation evaluation = evaluate(problem.input(), {&says, 1});
    for (std::size_t output = 0; output < 2; ++output) {
      const std::vector<double>& bound = evaluation.outputs[output].bounds[0].bound;
      for (std::size_t at = 0; at < bound.size(); ++at) {
        const BoundParts parts = bound_parts(problem.input(), says, output, static_cast<std::int64_t>(at));
        const double sum = parts.scores + parts.weights + parts.sum + parts.accumulation + parts.output;
        ASSERT_NEAR(sum, bound[at], bound[at] * 1e-6) << way.name << " " << output << " " << at;
        for (const double part : {parts.scores, parts.weights, parts.sum, parts.accumulation, parts.output}) {
          ASSERT_GE(part, 0) << way.name;
        }
      }
    }
  }
}

TEST(ScoresOfRow, AreTheScoresAndNaNWhereHidden) {
  const Attention problem = make({.Tq = 3, .Tk = 5, .D = 4, .Dv = 2, .causal = Causal::top_left, .seed = 3});
  const std::vector<double> scores = scores_of_row(problem.input(), 1);
  ASSERT_EQ(scores.size(), 5u);
  for (std::int64_t j = 0; j < 5; ++j) {
    double dot = 0;
    for (std::int64_t d = 0; d < 4; ++d) dot += problem.q.at(4 + d) * problem.k.at(j * 4 + d);
    const double score = scores[static_cast<std::size_t>(j)];
    EXPECT_TRUE(j <= 1 ? std::fabs(score - dot / 2) <= 1e-12 : std::isnan(score)) << j << ": " << score;
  }
}

}  // namespace
}  // namespace nbx::oracle::testing
