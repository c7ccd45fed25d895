#include "reports/bisect/behaviour.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "contracts/recorder.hpp"
#include "reports/interrupt.hpp"
#include "reports/text.hpp"

namespace nbx::reports::bisect {
namespace {

using nlohmann::json;

/// One look at a pack. Empty behaviour and a reason where there is nothing to see.
Observed look_at_bits(const contracts::RunOptions& options) {
  const contracts::Recording recording = contracts::record(options, stop_requested());
  Observed out;
  for (const auto& [kernel, problems] : recording.record.kernels)
    for (const auto& [problem, outputs] : problems) {
      std::string text;
      for (const auto& [output, print] : outputs) text += fmt::format(" {} {:016x}", output, print.whole);
      out.behaviour[kernel][problem] = text.substr(1);
    }
  for (const contracts::FailedCase& failed : recording.failed) {
    out.behaviour[failed.kernel][failed.problem] = failed.message;
  }
  if (out.behaviour.empty()) {
    out.why_not = recording.problems.empty() ? "no kernel and problem is selected, or none ran"
                                             : joined(recording.problems, "; ");
  }
  return out;
}

Observed look_at_gates(const contracts::RunOptions& options) {
  const contracts::RunResult result = contracts::run(
      options, [](const contracts::Progress&) {}, stop_requested());
  Observed out;
  std::vector<std::string> errors = result.harness_errors;
  for (const contracts::PackResult& pack : result.packs) {
    if (!pack.error.empty()) errors.push_back(pack.error);
  }
  for (const contracts::KernelResult& kernel : result.kernels) out.behaviour[kernel.kernel];
  for (const contracts::CaseResult& one : result.cases) {
    if (one.state != contracts::State::red) continue;
    out.behaviour[one.kernel][fmt::format("{}({})", one.clause, one.problem)] = "red";
  }
  if (!errors.empty()) {
    out.why_not = joined(errors, "; ");
  } else if (result.cases_run == 0) {
    out.why_not = "nothing was checked";
  }
  return out;
}

}  // namespace

const char* until_name(Until until) {
  static constexpr const char* names[] = {"bits", "gate", "code"};
  return names[static_cast<int>(until)];
}

Observed observe(const std::filesystem::path& pack, Until until, const contracts::RunOptions& given) {
  contracts::RunOptions options = given;
  options.packs.clear();
  options.named_packs = {pack};
  options.records.clear();  // bits are the other question
  const auto look = until == Until::bits ? look_at_bits : look_at_gates;
  Observed first = look(options);
  if (!first.good()) return first;
  const Observed second = look(options);
  for (const auto& [kernel, cases] : first.behaviour) {
    const auto again = second.behaviour.find(kernel);
    if (again == second.behaviour.end() || again->second != cases) first.unstable.insert(kernel);
  }
  return first;
}

std::string to_json(const Observed& observed) {
  return json{{"behaviour", observed.behaviour}, {"unstable", observed.unstable}, {"why_not", observed.why_not}}.dump();
}

Observed observed_from_json(const std::string& text) {
  const json read = json::parse(text);
  return {read.at("behaviour"), read.at("unstable"), read.at("why_not")};
}

std::vector<ChangedCase> changed_cases(const Behaviour& good, const Behaviour& bad, Until until,
                                       const std::set<std::string>& ignored) {
  std::vector<ChangedCase> out;
  const auto add = [&](const std::string& kernel, const std::string& name, const std::string& was,
                       const std::string& is) {
    if (was != is && ignored.count(kernel) == 0) out.push_back({kernel, name, was, is});
  };
  const auto given = [](const Behaviour& all, const std::string& kernel, const std::string& name) -> std::string {
    const auto cases = all.find(kernel);
    if (cases == all.end()) return "nothing";
    const auto one = cases->second.find(name);
    return one == cases->second.end() ? "nothing" : one->second;
  };
  for (const auto& [kernel, cases] : bad)
    for (const auto& [name, is] : cases) add(kernel, name, given(good, kernel, name), is);
  if (until == Until::gate) return out;
  for (const auto& [kernel, cases] : good)
    for (const auto& [name, was] : cases) {
      const std::string is = given(bad, kernel, name);
      if (is == "nothing") add(kernel, name, was, is);
    }
  return out;
}

}  // namespace nbx::reports::bisect
