#include "contracts/gates/red.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "contracts/dense.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

std::string classes_text(std::uint8_t classes) {
  std::string text;
  const auto add = [&](std::uint8_t flag, const char* name) {
    if (classes & flag) text += (text.empty() ? "" : " or ") + std::string(name);
  };
  add(oracle::finite, "a number");
  add(oracle::not_a_number, "NaN");
  add(oracle::plus_infinity, "+inf");
  add(oracle::minus_infinity, "-inf");
  add(oracle::exact_plus_zero, "+0 exactly");
  return text;
}

/// A ratio to the reference that is the same everywhere is a unit error, and is named as one.
std::string constant_ratio(const oracle::Evaluation::Output& output, const Bytes& actual, DLDataType type,
                           const std::vector<std::int64_t>& wrong) {
  double low = INFINITY, high = -INFINITY;
  for (const std::int64_t element : wrong) {
    const double expected = output.expected.value[static_cast<std::size_t>(element)];
    const double ratio = value_at(actual, type, element) / expected;
    if (!std::isfinite(ratio)) return {};
    low = std::min(low, ratio);
    high = std::max(high, ratio);
  }
  constexpr double close = 1e-2;
  if (wrong.size() < 4 || high - low > close * std::abs(high)) return {};
  const double ratio = (low + high) / 2;
  if (std::abs(ratio - 1) < close) return {};
  const auto is = [&](double constant) { return std::abs(ratio / constant - 1) < close; };
  const char* named = is(1.4426950408889634)   ? ", which is log2 e: base 2 where base e is promised"
                      : is(0.6931471805599453) ? ", which is ln 2"
                                               : "";
  return fmt::format("every wrong element is {:.4g} times the right one{}", ratio, named);
}

std::string parts_text(const oracle::BoundParts& parts) {
  return fmt::format("scores {:.2g}, weights {:.2g}, sum {:.2g}, accumulation {:.2g}, output {:.2g}", parts.scores,
                     parts.weights, parts.sum, parts.accumulation, parts.output);
}

}  // namespace

Verdict red_text(Lines lines) {
  Verdict verdict{.kind = Verdict::Kind::red};
  verdict.red.lines = std::move(lines);
  return verdict;
}

Lines reference_lines(Subject& subject, const std::string& launch, const OutputInfo& output,
                      std::size_t evaluation_index, const oracle::Bounds& bounds, const Bytes& actual,
                      const oracle::Judgement& judgement) {
  const Prepared& prepared = *subject.prepared;
  const oracle::Evaluation::Output& expected = prepared.evaluation.outputs[evaluation_index];
  if (judgement.elements == 0)
    return {{"wrong", fmt::format("{} has {} bytes where {} elements were due", output.name, actual.size(),
                                  expected.expected.value.size())}};
  Lines lines;
  if (!launch.empty()) lines.emplace_back("launch", launch);
  const std::int64_t worst = judgement.worst;
  lines.emplace_back(
      "wrong", fmt::format("{} of {} elements of {}   first {}   worst {}", judgement.wrong.size(), judgement.elements,
                           output.name, judgement.wrong.empty() ? "-" : index_text(output.shape, judgement.wrong[0]),
                           worst < 0 ? "-" : index_text(output.shape, worst)));
  if (!judgement.wrong.empty())
    lines.emplace_back("where", spatial_pattern(output.shape, output.axes, judgement.wrong));
  if (worst < 0) return lines;
  const auto at = static_cast<std::size_t>(worst);
  const std::uint8_t classes = bounds.open[at] ? bounds.classes[at] : expected.expected.classes[at];
  const std::uint32_t pattern = pattern_at(actual, output.dtype, worst);
  const double value = value_at(actual, output.dtype, worst);
  if (classes & oracle::finite) {
    const oracle::Refined fine = prepared.refine(evaluation_index, worst, 256);
    const bool more = classes != oracle::finite;
    lines.emplace_back("expected", fmt::format("{}   ± {:.2g}{}", number_text(fine.value), fine.radius,
                                               more ? " (accepted: " + classes_text(classes) + ")" : ""));
  } else {
    lines.emplace_back("expected", classes_text(classes));
  }
  lines.emplace_back("actual", fmt::format("{}   {}", number_text(value), bits_text(pattern, output.dtype)));
  if ((classes & oracle::finite) && std::isfinite(value)) {
    const double error = std::abs(value - expected.expected.value[at]), bound = bounds.bound[at];
    const oracle::BoundParts parts =
        prepared.instance->parts(prepared.arithmetics[subject.arithmetic], evaluation_index, worst);
    lines.emplace_back("off by", fmt::format("{:.2g}, {:.4g} × the bound {:.2g} ({})", error,
                                             bound > 0 ? error / bound : INFINITY, bound, parts_text(parts)));
    if (const std::string ratio = constant_ratio(expected, actual, output.dtype, judgement.wrong); !ratio.empty())
      lines.emplace_back("ratio", ratio);
  } else if (!std::isfinite(value) || !(classes & oracle::finite)) {
    if (!judgement.wrong.empty()) lines.emplace_back("off by", "another class of value, which no bound allows");
  }
  for (auto& line : prepared.instance->behind(evaluation_index, worst)) lines.push_back(std::move(line));
  return lines;
}

Verdict red_difference(Subject& subject, const std::string& way, const OutputInfo& output,
                       const Difference& difference) {
  (void)subject;
  const std::int64_t first = difference.differing.front();
  const oracle::Format format = *oracle_format(output.dtype);
  return red_text({
      {"way", way},
      {"wrong", fmt::format("{} elements of {} differ in their bits   first {}", difference.differing.size(),
                            output.name, index_text(output.shape, first))},
      {"where", spatial_pattern(output.shape, output.axes, difference.differing)},
      {"plain call", fmt::format("{}   {}", number_text(oracle::decode(format, difference.plain)),
                                 bits_text(difference.plain, output.dtype))},
      {"this way", fmt::format("{}   {}", number_text(oracle::decode(format, difference.other)),
                               bits_text(difference.other, output.dtype))},
  });
}

Verdict red_outcome(Subject& subject, const std::string& way, const Outcome& outcome) {
  (void)subject;
  const char* what = "";
  switch (outcome.kind) {
    case Outcome::Kind::ran:
      what = "ran";
      break;
    case Outcome::Kind::refused:
      what = "refused a call that it should run";
      break;
    case Outcome::Kind::crashed:
      what = "crashed";
      break;
    case Outcome::Kind::timed_out:
      what = "did not return in time and was ended";
      break;
    case Outcome::Kind::broken:
      what = "breaks the pack interface";
      break;
  }
  Lines lines;
  if (!way.empty()) lines.emplace_back("way", way);
  lines.emplace_back("wrong", fmt::format("the kernel {}{}", what,
                                          outcome.stage.empty() ? "" : fmt::format(" (in {})", outcome.stage)));
  if (!outcome.message.empty()) lines.emplace_back("it says", outcome.message);
  return red_text(std::move(lines));
}

std::optional<Verdict> not_run(Subject& subject, const std::string& way, const Outcome& outcome) {
  if (outcome.kind == Outcome::Kind::ran) return std::nullopt;
  if (outcome.kind == Outcome::Kind::refused && outcome.status == NBX_UNSUPPORTED)
    return Verdict{.kind = Verdict::Kind::declined, .reason = outcome.message};
  return red_outcome(subject, way, outcome);
}

std::string fault_text(const MemoryFault& fault) {
  const char* what = "";
  switch (fault.kind) {
    case MemoryFault::Kind::guard_before:
      what = "wrote before the start of";
      break;
    case MemoryFault::Kind::guard_after:
      what = "wrote past the end of";
      break;
    case MemoryFault::Kind::gap:
      what = "wrote between the rows of";
      break;
    case MemoryFault::Kind::input_changed:
      what = "changed its input";
      break;
    case MemoryFault::Kind::workspace_guard:
      what = "wrote outside the bytes it asked for of";
      break;
  }
  return fmt::format("{} {}: {} bytes, the first at byte {}", what, fault.tensor, fault.bytes, fault.offset);
}

}  // namespace nbx::contracts
