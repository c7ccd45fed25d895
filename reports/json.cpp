#include "reports/json.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reports/entries.hpp"
#include "reports/exit_code.hpp"
#include "reports/fields.hpp"
#include "reports/tally.hpp"
#include "reports/text.hpp"

namespace nbx::reports {
namespace {

using nlohmann::ordered_json;
using Verdict = contracts::ControlResult::Verdict;
using contracts::State;

// Raised when a field changes its meaning: an older report is then refused and not misread.
constexpr int format_version = 1;

constexpr std::array<std::pair<State, const char*>, 6> state_names{{{State::pass, "pass"},
                                                                    {State::red, "red"},
                                                                    {State::known, "known"},
                                                                    {State::declined, "declined"},
                                                                    {State::pending, "pending"},
                                                                    {State::stale, "stale"}}};
constexpr std::array<std::pair<Verdict, const char*>, 5> verdict_names{{{Verdict::red_as_planted, "red as planted"},
                                                                        {Verdict::missed, "missed"},
                                                                        {Verdict::equivalent, "equivalent"},
                                                                        {Verdict::within_bound, "within bound"},
                                                                        {Verdict::not_judged, "not judged"}}};

template <class Value, std::size_t n>
const char* name_of(const std::array<std::pair<Value, const char*>, n>& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  throw std::logic_error("a value without a name");
}

template <class Value, std::size_t n>
Value value_of(const std::array<std::pair<Value, const char*>, n>& names, const std::string& text) {
  for (const auto& [value, name] : names) {
    if (text == name) return value;
  }
  throw std::runtime_error("unknown word \"" + text + "\"");
}

struct Writer {
  ordered_json json = ordered_json::object();

  template <class T>
  void operator()(const char* name, const T& value) {
    json[name] = write(value);
  }

  static ordered_json write(const std::string& value) { return printable(value); }
  static ordered_json write(bool value) { return value; }
  static ordered_json write(int value) { return value; }
  static ordered_json write(std::int64_t value) { return value; }
  static ordered_json write(std::uint64_t value) { return value; }
  static ordered_json write(State value) { return name_of(state_names, value); }
  static ordered_json write(Verdict value) { return name_of(verdict_names, value); }
  // JSON has no infinity and no NaN: they are words.
  static ordered_json write(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
  }
  static ordered_json write(const std::pair<std::string, std::string>& line) {
    ordered_json out;
    out["label"] = printable(line.first);
    out["text"] = printable(line.second);
    return out;
  }
  static ordered_json write(const contracts::CaseResult& one) {
    return object(one, case_fields<Writer, const contracts::CaseResult>);
  }
  static ordered_json write(const contracts::Red& red) { return object(red, red_fields<Writer, const contracts::Red>); }
  static ordered_json write(const contracts::KernelResult& kernel) {
    return object(kernel, kernel_fields<Writer, const contracts::KernelResult>);
  }
  static ordered_json write(const contracts::ControlResult& control) {
    return object(control, control_fields<Writer, const contracts::ControlResult>);
  }
  static ordered_json write(const contracts::FindingResult& finding) {
    return object(finding, finding_fields<Writer, const contracts::FindingResult>);
  }
  static ordered_json write(const contracts::PowerResult& power) {
    return object(power, power_fields<Writer, const contracts::PowerResult>);
  }
  static ordered_json write(const contracts::PackResult& pack) {
    return object(pack, pack_fields<Writer, const contracts::PackResult>);
  }
  static ordered_json write(const Report& report) { return object(report, report_fields<Writer, const Report>); }
  template <class T>
  static ordered_json write(const std::optional<T>& value) {
    return value ? write(*value) : ordered_json();
  }
  template <class T>
  static ordered_json write(const std::vector<T>& values) {
    ordered_json out = ordered_json::array();
    for (const T& value : values) out.push_back(write(value));
    return out;
  }
  template <class T>
  static ordered_json object(const T& value, void (*fields)(Writer&, const T&)) {
    Writer writer;
    fields(writer, value);
    return std::move(writer.json);
  }
};

struct Reader {
  const ordered_json& json;

  template <class T>
  void operator()(const char* name, T& value) {
    try {
      read(json.at(name), value);
    } catch (const nlohmann::json::exception& error) {
      throw std::runtime_error("\"" + std::string(name) + "\": " + error.what());
    }
  }

  static void read(const ordered_json& from, std::string& to) { to = from.get<std::string>(); }
  static void read(const ordered_json& from, bool& to) { to = from.get<bool>(); }
  static void read(const ordered_json& from, int& to) { to = from.get<int>(); }
  static void read(const ordered_json& from, std::int64_t& to) { to = from.get<std::int64_t>(); }
  static void read(const ordered_json& from, std::uint64_t& to) { to = from.get<std::uint64_t>(); }
  static void read(const ordered_json& from, State& to) { to = value_of(state_names, from.get<std::string>()); }
  static void read(const ordered_json& from, Verdict& to) { to = value_of(verdict_names, from.get<std::string>()); }
  static void read(const ordered_json& from, double& to) {
    if (from.is_string()) {
      static constexpr double infinity = std::numeric_limits<double>::infinity();
      static constexpr std::array<std::pair<double, const char*>, 3> words{
          {{infinity, "inf"}, {-infinity, "-inf"}, {std::numeric_limits<double>::quiet_NaN(), "nan"}}};
      to = value_of(words, from.get<std::string>());
    } else {
      to = from.get<double>();
    }
  }
  static void read(const ordered_json& from, std::pair<std::string, std::string>& to) {
    to = {from.at("label").get<std::string>(), from.at("text").get<std::string>()};
  }
  static void read(const ordered_json& from, contracts::CaseResult& to) {
    object(from, to, case_fields<Reader, contracts::CaseResult>);
  }
  static void read(const ordered_json& from, contracts::Red& to) {
    object(from, to, red_fields<Reader, contracts::Red>);
  }
  static void read(const ordered_json& from, contracts::KernelResult& to) {
    object(from, to, kernel_fields<Reader, contracts::KernelResult>);
  }
  static void read(const ordered_json& from, contracts::ControlResult& to) {
    object(from, to, control_fields<Reader, contracts::ControlResult>);
  }
  static void read(const ordered_json& from, contracts::FindingResult& to) {
    object(from, to, finding_fields<Reader, contracts::FindingResult>);
  }
  static void read(const ordered_json& from, contracts::PowerResult& to) {
    object(from, to, power_fields<Reader, contracts::PowerResult>);
  }
  static void read(const ordered_json& from, contracts::PackResult& to) {
    object(from, to, pack_fields<Reader, contracts::PackResult>);
  }
  static void read(const ordered_json& from, Report& to) { object(from, to, report_fields<Reader, Report>); }
  template <class T>
  static void read(const ordered_json& from, std::optional<T>& to) {
    if (from.is_null()) {
      to.reset();
    } else {
      read(from, to.emplace());
    }
  }
  template <class T>
  static void read(const ordered_json& from, std::vector<T>& to) {
    if (!from.is_array()) throw std::runtime_error("a list is expected, not " + from.dump());
    to.clear();
    for (const ordered_json& value : from) read(value, to.emplace_back());
  }
  template <class T>
  static void object(const ordered_json& from, T& to, void (*fields)(Reader&, T&)) {
    Reader reader{from};
    fields(reader, to);
  }
};

const char* ctrf_status(Entry::Status status) {
  switch (status) {
    case Entry::Status::passed:
      return "passed";
    case Entry::Status::skipped:
      return "skipped";
    case Entry::Status::failed:
    case Entry::Status::error:
      break;
  }
  return "failed";
}

ordered_json test_json(const Entry& entry) {
  ordered_json test;
  test["name"] = printable(entry.name);
  test["status"] = ctrf_status(entry.status);
  test["duration"] = std::llround(entry.seconds * 1000);
  test["suite"] = printable(entry.suite);
  if (!entry.message.empty()) test["message"] = printable(entry.message);
  if (!entry.trace.empty()) test["trace"] = printable(entry.trace);
  if (entry.of_case) test["extra"]["case"] = Writer::write(*entry.of_case);
  return test;
}

}  // namespace

std::string to_json(const Report& report) {
  const std::vector<Entry> list = entries(report);
  const EntryCounts counts = count(list);
  ordered_json results;
  results["tool"] = {{"name", "nbx-contract"}, {"version", version()}};
  results["summary"] = {{"tests", counts.tests}, {"passed", counts.passed},   {"failed", counts.failed + counts.errors},
                        {"pending", 0},          {"skipped", counts.skipped}, {"other", 0},
                        {"start", report.start}, {"stop", report.stop}};
  results["tests"] = ordered_json::array();
  for (const Entry& entry : list) results["tests"].push_back(test_json(entry));
  ordered_json& extra = results["extra"];
  extra["format"] = format_version;
  extra["exit_code"] = exit_code(report.result, report.strict);
  extra["run"] = Writer::write(report);
  ordered_json whole;
  whole["reportFormat"] = "CTRF";
  whole["specVersion"] = "0.0.0";
  whole["results"] = std::move(results);
  return whole.dump(1) + "\n";
}

Report from_json(std::string_view text) {
  try {
    const ordered_json whole = ordered_json::parse(text);
    const ordered_json& results = whole.at("results");
    if (results.at("tool").at("name") != "nbx-contract") throw std::runtime_error("written by another tool");
    if (results.at("tool").at("version") != version()) throw std::runtime_error("written by another version");
    if (results.at("extra").at("format") != format_version) throw std::runtime_error("another version of the format");
    Report report;
    Reader::read(results.at("extra").at("run"), report);
    report.start = results.at("summary").at("start").get<std::int64_t>();
    report.stop = results.at("summary").at("stop").get<std::int64_t>();
    for (const ordered_json& test : results.at("tests")) {
      const auto extra = test.find("extra");
      if (extra != test.end()) Reader::read(extra->at("case"), report.result.cases.emplace_back());
    }
    return report;
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(std::string("not a report of this command: ") + error.what());
  }
}

}  // namespace nbx::reports
