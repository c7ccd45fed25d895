#include "reports/json.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "reports/summary.hpp"
#include "sample.hpp"

namespace nbx::reports {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Json, HasTheShapeOfCtrf) {
  const json whole = json::parse(to_json(sample::report(sample::everything())));
  const json& results = whole.at("results");
  EXPECT_EQ(results.at("tool").at("name"), "nbx-contract");
  const json& summary = results.at("summary");
  std::int64_t sum = 0;
  for (const char* state : {"passed", "failed", "pending", "skipped", "other"}) sum += summary.at(state).get<int>();
  EXPECT_EQ(sum, summary.at("tests"));
  EXPECT_EQ(summary.at("tests"), results.at("tests").size());
  EXPECT_EQ(summary.at("failed"), 5);  // case, control, mutant, finding, pack
  EXPECT_EQ(summary.at("skipped"), 4);
  EXPECT_EQ(summary.at("start"), 1'700'000'000'000);
  EXPECT_EQ(summary.at("stop"), 1'700'000'000'500);
  std::int64_t failed = 0;
  for (const json& test : results.at("tests")) {
    EXPECT_TRUE(test.at("name").is_string());
    EXPECT_TRUE(test.at("duration").is_number_integer());
    EXPECT_THAT(test.at("status").get<std::string>(), testing::AnyOf("passed", "failed", "skipped"));
    failed += test.at("status") == "failed";
  }
  EXPECT_EQ(failed, 5);
  EXPECT_EQ(results.at("extra").at("exit_code"), 1);
}

TEST(Json, KeepsOfARedCaseItsBoundsAndWorstElement) {
  const json whole = json::parse(to_json(sample::report(sample::everything())));
  const json& test = whole.at("results").at("tests").at(0);
  EXPECT_EQ(test.at("name"), sample::red_case().name());
  EXPECT_EQ(test.at("status"), "failed");
  EXPECT_EQ(test.at("duration"), 125);
  EXPECT_EQ(test.at("extra").at("case").at("worst_share"), 5400.25);
  EXPECT_EQ(test.at("extra").at("case").at("red").at("lines").at(1).at("label"), "expected");
  EXPECT_THAT(test.at("trace").get<std::string>(), HasSubstr("actual     0x1.7ae14p-3   0.185000"));
}

TEST(Json, ReadsBackWhole) {
  Report report = sample::report(sample::everything());
  report.shard = 2;
  report.shards = 3;
  report.strict = true;
  report.result.seed = std::numeric_limits<std::uint64_t>::max();
  report.result.interrupted = true;
  report.result.unmatched = {"flahs"};
  report.result.harness_errors = {"x"};
  const std::string text = to_json(report);
  const Report read = from_json(text);
  EXPECT_EQ(to_json(read), text);
  EXPECT_EQ(summary(read, {}), summary(report, {}));
  EXPECT_EQ(read.shard, 2);
  EXPECT_EQ(read.shards, 3);
  EXPECT_EQ(read.result.seed, report.result.seed);
  EXPECT_EQ(read.stop, report.stop);
}

TEST(Json, KeepsWhatIsNotFinite) {
  for (const double share : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN(), 5e-324}) {
    Report report = sample::report(sample::everything());
    report.result.cases[0].worst_share = share;
    const double read = from_json(to_json(report)).result.cases[0].worst_share;
    EXPECT_TRUE(read == share || (std::isnan(read) && std::isnan(share))) << share << " came back as " << read;
  }
}

TEST(Json, IsValidForAnyBytes) {
  Report report = sample::report(sample::everything());
  report.result.cases[0].reason = std::string("\xFF\xC0\0\x1b\"\\", 6);
  EXPECT_EQ(from_json(to_json(report)).result.cases[0].reason, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"\\");
}

TEST(Json, RefusesWhatIsNoReport) {
  const auto reading = [](std::string text) { return [text] { from_json(text); }; };
  const auto refuses = [](const char* why) { return ThrowsMessage<std::runtime_error>(HasSubstr(why)); };
  EXPECT_THAT(reading(""), refuses("not a report"));
  EXPECT_THAT(reading("{}"), refuses("not a report"));
  EXPECT_THAT(reading("[1]"), refuses("not a report"));
  const std::string text = to_json(sample::report(sample::green()));
  EXPECT_THAT(reading(text.substr(0, text.size() / 2)), refuses("not a report"));
  const auto changed = [&](const char* pointer, const json& value) {
    json whole = json::parse(text);
    whole[json::json_pointer(pointer)] = value;
    return whole.dump();
  };
  EXPECT_THAT(reading(changed("/results/tool/name", "jest")), refuses("another tool"));
  EXPECT_THAT(reading(changed("/results/tool/version", "0.0")), refuses("another version"));
  EXPECT_THAT(reading(changed("/results/extra/format", 2)), refuses("another version of the format"));
  EXPECT_THAT(reading(changed("/results/extra/run/kernels/0/state", "fine")), refuses("unknown word \"fine\""));
  EXPECT_THAT(reading(changed("/results/extra/run/kernels", "none")), refuses("a list is expected"));
  json without = json::parse(text);
  without.at("results").at("extra").at("run").erase("power");
  EXPECT_THAT(reading(without.dump()), refuses("\"power\""));
}

}  // namespace
}  // namespace nbx::reports
