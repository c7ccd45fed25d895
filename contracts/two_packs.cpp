#include "contracts/two_packs.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "contracts/dense.hpp"
#include "contracts/formats.hpp"
#include "contracts/gates/compare.hpp"
#include "contracts/gates/declared.hpp"
#include "contracts/gates/red.hpp"

namespace nbx::contracts {
namespace {

/// A pack's kernel before a problem.
struct Side {
  Executor executor;
  PackInfo info{};
  const KernelInfo* kernel = nullptr;
  Outcome outcome{};
  oracle::Arithmetic arithmetic{};

  Side(const std::filesystem::path& file, std::chrono::milliseconds timeout) : executor(file, {.timeout = timeout}) {}

  std::string find(const std::string& name) {
    PackError error;
    auto opened = executor.open(&error);
    if (!opened) return error.reason;
    info = std::move(*opened);
    for (const KernelInfo& one : info.kernels)
      if (one.name == name) kernel = &one;
    return kernel ? "" : fmt::format("pack {} has no kernel {}", info.name, name);
  }

  std::string run(const Call& call) {
    outcome = executor.execute(call);
    if (outcome.kind != Outcome::Kind::ran) return outcome.message;
    std::string why;
    const auto stated = executor.arithmetic(call, &why);
    const Family* const family = family_named(kernel->family);
    const DLDataType output = family ? family->output_format(kernel->format) : kernel->format;
    const auto understood = stated ? declared(*stated, output, info.imitates, &why) : std::nullopt;
    if (!understood) return fmt::format("states no arithmetic that a bound follows from: {}", why);
    arithmetic = *understood;
    return "";
  }
};

std::size_t problem_index(const Family& family, const std::string& name) {
  const auto problems = family.problems();
  for (std::size_t p = 0; p < problems.size(); ++p)
    if (problems[p].name == name) return p;
  throw std::invalid_argument(fmt::format("family {} has no problem {}", family.name(), name));
}

/// The place of a pattern among all values of its format, in rising order; -0 and +0 share one.
std::int64_t rank_of(std::uint32_t pattern, DLDataType type) {
  const std::int64_t sign = std::int64_t{1} << (type.bits - 1);
  const std::int64_t magnitude = pattern & (sign - 1);
  return (pattern & sign) != 0 ? -magnitude : magnitude;
}

double steps_between(std::uint32_t a, std::uint32_t b, DLDataType type) {
  const oracle::Format format = *oracle_format(type);
  if (std::isnan(oracle::decode(format, a)) || std::isnan(oracle::decode(format, b)))
    return std::numeric_limits<double>::quiet_NaN();
  return std::abs(static_cast<double>(rank_of(a, type) - rank_of(b, type)));
}

double most_steps(const Bytes& a, const Bytes& b, DLDataType type, const std::vector<std::int64_t>& where) {
  double most = 0;
  for (const std::int64_t i : where) {
    const double steps = steps_between(pattern_at(a, type, i), pattern_at(b, type, i), type);
    if (steps > most) most = steps;
  }
  return most;
}

}  // namespace

PackDifference compare_packs(const std::filesystem::path& good_file, const std::filesystem::path& bad_file,
                             const std::string& kernel, const std::string& problem, std::uint64_t seed,
                             std::chrono::milliseconds timeout) {
  PackDifference out;
  Side good(good_file, timeout), bad(bad_file, timeout);
  for (Side* side : {&good, &bad}) {
    out.why_not = side->find(kernel);
    if (!out.why_not.empty()) return out;
  }
  const Family* const family = family_named(good.kernel->family);
  if (!family) {
    out.why_not = fmt::format("there is no contract for family '{}'", good.kernel->family);
    return out;
  }
  const auto instance = family->make(problem_index(*family, problem), good.kernel->format, seed);
  const Call call = call_for(*family, *good.kernel, instance->call());
  for (Side* side : {&good, &bad}) {
    if (const std::string why = side->run(call); !why.empty()) {
      out.why_not = fmt::format("{} pack: {}", side == &good ? "the good" : "the bad", why);
      return out;
    }
  }
  const auto found = difference(call, good.outcome, call, bad.outcome);
  if (!found) return out;

  const auto tensors = output_tensors(call);
  std::size_t at = 0;
  while (tensors[at]->name != found->output) ++at;
  const OutputInfo& output = output_info(*instance, found->output);
  const std::int64_t first = found->differing.front();
  out.output = found->output;
  out.differing = static_cast<std::int64_t>(found->differing.size());
  out.elements = count(output.shape);
  out.index = index_text(output.shape, first);
  out.where = spatial_pattern(output.shape, output.axes, found->differing);
  out.ulps = steps_between(found->plain, found->other, output.dtype);
  out.most_ulps = most_steps(good.outcome.outputs[at], bad.outcome.outputs[at], output.dtype, found->differing);

  const std::vector<oracle::Arithmetic> arithmetics{good.arithmetic, bad.arithmetic};
  const oracle::Evaluation evaluation = instance->evaluate(arithmetics);
  std::size_t index = 0;
  while (evaluation.outputs[index].name != found->output) ++index;
  const oracle::Evaluation::Output& expected = evaluation.outputs[index];
  const auto element = static_cast<std::size_t>(first);
  out.bound = expected.bounds[0].bound[element];
  const auto value_of = [&](const Side& side, std::size_t which, std::uint32_t pattern) {
    ElementValue value;
    const double number = oracle::decode(*oracle_format(output.dtype), pattern);
    value.number = number_text(number);
    value.bits = bits_text(pattern, output.dtype);
    const oracle::Bounds& bounds = expected.bounds[which];
    const bool finite = (expected.expected.classes[element] & oracle::finite) != 0 && std::isfinite(number);
    const double error = std::abs(number - expected.expected.value[element]);
    value.share = !finite ? std::numeric_limits<double>::infinity() : error == 0 ? 0 : error / bounds.bound[element];
    const oracle::Judgement judgement = oracle::judge(expected, bounds, side.outcome.outputs[at],
                                                      *oracle_format(output.dtype), instance->refiner(), index);
    value.wrong = static_cast<std::int64_t>(judgement.wrong.size());
    return value;
  };
  out.good = value_of(good, 0, found->plain);
  out.bad = value_of(bad, 1, found->other);
  return out;
}

}  // namespace nbx::contracts
