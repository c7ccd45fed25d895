// The tables of problems and findings hold together, and inputs are what their kinds promise.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "contracts/dense.hpp"
#include "contracts/families/attention_inputs.hpp"
#include "contracts/formats.hpp"
#include "contracts/gates/clause.hpp"
#include "contracts/gates/compare.hpp"
#include "contracts/gates/findings.hpp"
#include "contracts/pattern.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts {
namespace {

TEST(Problems, NamesAreUniqueWithinAFamily) {
  for (const Family* family : families()) {
    std::set<std::string> names;
    for (const ProblemInfo& problem : family->problems())
      EXPECT_TRUE(names.insert(problem.name).second) << family->name() << ": " << problem.name;
    // An append has few ways to be asked.
    EXPECT_GE(names.size(), family->name() == "paged_append" ? 12u : 30u) << family->name();
  }
}

/// The formats that a family's kernels have.
std::vector<DLDataType> formats_of(const Family& family) {
  if (family.name() == "q35") return {bf16_type, e4m3_type};
  if (family.name() == "attention_scaled") return {e4m3_type};
  if (family.name() == "splash_uniform") return {f32_type, bf16_type};  // f16 holds no weight of 2^C: never eligible
  return {f32_type, f16_type, bf16_type};
}

TEST(Problems, EveryFormatCanBeMade) {
  for (const Family* family : families())
    for (std::size_t p = 0; p < family->problems().size(); ++p) {
      if (family->problems()[p].work > 1 << 22) continue;
      for (const DLDataType type : formats_of(*family)) {
        const auto instance = family->make(p, type, 1);
        for (const CallTensor& tensor : instance->call().tensors)
          if (tensor.role == NBX_IN) {
            EXPECT_EQ(tensor.data->size(), static_cast<std::size_t>(count(tensor.shape)) * tensor.dtype.bits / 8);
          }
      }
    }
}

TEST(Problems, TheSeedDeterminesEveryBitAndAnotherSeedOthers) {
  const Family& family = *family_named("attention");
  const auto a = family.make(0, bf16_type, 7), b = family.make(0, bf16_type, 7), c = family.make(0, bf16_type, 8);
  EXPECT_EQ(*a->call().tensors[0].data, *b->call().tensors[0].data);
  EXPECT_NE(*a->call().tensors[0].data, *c->call().tensors[0].data);
  // Pinned, as recorded fingerprints rest on these bits.
  EXPECT_EQ(fingerprint(*family.make(0, f32_type, 1)->call().tensors[0].data, f32_type).whole, 1146128514679675404u);
}

TEST(Problems, PlantsStandWhereTheySay) {
  for (const AttentionProblem& problem : attention_table::problems) {
    if (problem.plant == Plant::none) continue;
    const AttentionData data = make_attention_data(problem, f32_type, 1);
    std::int64_t special = 0;  // not finite, or near the largest numbers
    for (const SharedBytes& bytes : {data.q, data.k, data.v})
      for (std::size_t i = 0; i < bytes->size() / 4; ++i)
        special += !(std::fabs(value_at(*bytes, f32_type, static_cast<std::int64_t>(i))) < 0x1p100);
    const std::int64_t row = problem.Hk * problem.D;
    const std::int64_t planted = problem.plant == Plant::opposite_infs         ? 2
                                 : problem.plant == Plant::nan_key_by_tile     ? problem.Hk
                                 : problem.plant == Plant::partly_hidden_large ? row
                                 : problem.plant == Plant::masked_large        ? 2 * row
                                                                               : 1;
    EXPECT_EQ(special, planted) << problem_name(problem);
  }
}

TEST(Random, NormalNumbersHaveMeanZeroAndVarianceOne) {
  Random random(1, "moments");
  double sum = 0, squares = 0;
  constexpr int n = 200'000;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 5.0 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 0.02);
}

/// The problems of the families whose name begins as the kernel's does ("splash.uniform.*": splash_uniform and its
/// kin), else of attention: several families plant alike, and a finding speaks of its own kernel.
std::set<std::string> problems_before(std::string_view kernel) {
  const std::string_view first = kernel.substr(0, kernel.find('.'));
  std::set<std::string> names;
  for (const bool own : {true, false}) {
    for (const Family* family : families()) {
      if (own ? !family->name().starts_with(first) : family->name() != "attention") continue;
      for (const ProblemInfo& problem : family->problems()) names.insert(problem.name);
    }
    if (!names.empty()) break;
  }
  return names;
}

TEST(Findings, EachHasPlantedProblemsAndEveryPlantedProblemIsThereWithoutItsPlant) {
  for (const Finding& finding : findings()) {
    const std::set<std::string> names = problems_before(finding.kernel);
    int planted = 0;
    for (const std::string& name : names)
      if (name.ends_with(",plant=" + std::string(finding.plant)) && glob(finding.problems, name)) {
        ++planted;
        EXPECT_TRUE(names.contains(without_plant(name))) << name;
      }
    EXPECT_GT(planted, 0) << finding.id;
  }
}

TEST(Clauses, IdsAreUniqueAndTellTheirGate) {
  std::set<std::string_view> ids;
  for (const Clause& clause : clauses()) {
    EXPECT_TRUE(ids.insert(clause.id).second) << clause.id;
    EXPECT_EQ(clause.id.substr(0, 5), "gate" + std::to_string(clause.gate));
    EXPECT_FALSE(clause.sentence.empty());
    EXPECT_FALSE(clause.source.empty());
  }
  for (const CallClause& clause : call_clauses()) EXPECT_TRUE(ids.insert(clause.id).second) << clause.id;
}

TEST(Clauses, EveryRefusalAndEdgeHasAClause) {
  std::set<std::string_view> ids, used;
  for (const CallClause& clause : call_clauses()) ids.insert(clause.id);
  for (const Family* family : families()) {
    for (const Refusal& refusal : family->refusals(f32_type, 1)) {
      EXPECT_TRUE(ids.contains(refusal.clause)) << refusal.clause;
      used.insert(*ids.find(refusal.clause));
    }
    for (const Edge& edge : family->edges(f32_type, 1)) {
      EXPECT_TRUE(ids.contains(edge.clause)) << edge.clause;
      used.insert(*ids.find(edge.clause));
    }
  }
  EXPECT_EQ(ids, used) << "a clause that nothing asks";
}

TEST(Compare, NaNsOfOtherPayloadAreOneValueAndZerosAreNot) {
  EXPECT_TRUE(same_value(0x7FC00000, 0xFFFFFFFF, f32_type));
  EXPECT_FALSE(same_value(0x00000000, 0x80000000, f32_type));
  EXPECT_FALSE(same_value(0x7FC00000, 0x7F800000, f32_type));
  EXPECT_TRUE(same_value(0x7E01, 0xFE00, f16_type));
}

TEST(Compare, FingerprintsSeeOneBitAndIgnoreTheNaN) {
  Bytes a(4 * 3000), b = a;
  put_pattern(a, f32_type, 2999, 0x7FC00001);
  put_pattern(b, f32_type, 2999, 0xFFC00000);
  EXPECT_EQ(fingerprint(a, f32_type), fingerprint(b, f32_type));
  put_pattern(b, f32_type, 1024, 1);
  const Fingerprint x = fingerprint(a, f32_type), y = fingerprint(b, f32_type);
  EXPECT_NE(x.whole, y.whole);
  EXPECT_EQ(x.blocks[0], y.blocks[0]);
  EXPECT_NE(x.blocks[1], y.blocks[1]);
  EXPECT_EQ(x.blocks[2], y.blocks[2]);
}

}  // namespace
}  // namespace nbx::contracts
