#include "contracts/two_packs.hpp"

#include <fmt/format.h>

#include <algorithm>
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
    return outcome.kind != Outcome::Kind::ran ? outcome.message : understand(call);
  }

  std::string understand(const Call& call) {
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

bool has_problem(const Family& family, const std::string& name) {
  const auto problems = family.problems();
  return std::any_of(problems.begin(), problems.end(), [&](const auto& one) { return one.name == name; });
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

/// The first differing element, how many there are and how far apart they lie, in the first output that differs.
PackDifference elements_of(const Call& call, const Outcome& good, const Outcome& bad,
                           std::vector<std::int64_t>* differing) {
  PackDifference out;
  const auto found = difference(call, good, call, bad);
  if (!found) return out;
  const auto tensors = output_tensors(call);
  std::size_t at = 0;
  while (tensors[at]->name != found->output) ++at;
  const CallTensor& tensor = *tensors[at];
  out.output = found->output;
  out.differing = static_cast<std::int64_t>(found->differing.size());
  out.elements = count(tensor.shape);
  out.index = index_text(tensor.shape, found->differing.front());
  const auto said = [&](std::uint32_t pattern) {
    const auto format = oracle_format(tensor.dtype);
    return ElementValue{number_text(format ? oracle::decode(*format, pattern) : pattern),
                        bits_text(pattern, tensor.dtype), 0, 0};
  };
  out.good = said(found->plain);
  out.bad = said(found->other);
  out.ulps = out.most_ulps = std::numeric_limits<double>::quiet_NaN();
  if (oracle_format(tensor.dtype)) {
    out.ulps = steps_between(found->plain, found->other, tensor.dtype);
    out.most_ulps = most_steps(good.outputs[at], bad.outputs[at], tensor.dtype, found->differing);
  }
  *differing = found->differing;
  return out;
}

/// Adds where the differing elements lie, the bound at the first of them, and who leaves it.
void add_bound(PackDifference& out, const Call& call, Instance& instance, const std::vector<std::int64_t>& differing,
               const Side& good, const Side& bad) {
  const OutputInfo& output = output_info(instance, out.output);
  out.where = spatial_pattern(output.shape, output.axes, differing);
  const std::vector<oracle::Arithmetic> arithmetics{good.arithmetic, bad.arithmetic};
  const oracle::Evaluation evaluation = instance.evaluate(arithmetics);
  std::size_t index = 0;
  while (index < evaluation.outputs.size() && evaluation.outputs[index].name != out.output) ++index;
  if (index == evaluation.outputs.size()) {
    out.no_bound = fmt::format("the contract gives no bound of {}", out.output);
    return;
  }
  const oracle::Evaluation::Output& expected = evaluation.outputs[index];
  const auto tensors = output_tensors(call);
  std::size_t at = 0;
  while (tensors[at]->name != out.output) ++at;
  const auto element = static_cast<std::size_t>(differing.front());
  const oracle::Format format = *oracle_format(output.dtype);
  out.bound = expected.bounds[0].bound[element];
  const auto judge = [&](ElementValue& value, const Side& side, std::size_t which) {
    const double number = oracle::decode(format, pattern_at(side.outcome.outputs[at], output.dtype, differing.front()));
    const oracle::Bounds& bounds = expected.bounds[which];
    const bool finite = (expected.expected.classes[element] & oracle::finite) != 0 && std::isfinite(number);
    const double error = std::abs(number - expected.expected.value[element]);
    value.share = !finite ? std::numeric_limits<double>::infinity() : error == 0 ? 0 : error / bounds.bound[element];
    const oracle::Judgement judgement =
        oracle::judge(expected, bounds, side.outcome.outputs[at], format, instance.refiner(), index);
    value.wrong = static_cast<std::int64_t>(judgement.wrong.size());
  };
  judge(out.good, good, 0);
  judge(out.bad, bad, 1);
}

/// Outputs that were kept, as the outcome of `call`. Empty, or which of them does not fit.
std::string take_kept(const Call& call, const KeptOutputs& kept, Outcome& outcome) {
  for (const CallTensor* tensor : output_tensors(call)) {
    const auto at = kept.find(tensor->name);
    if (at == kept.end()) return fmt::format("{} was not kept", tensor->name);
    if (!same_type(at->second.dtype, tensor->dtype) || at->second.shape != tensor->shape) {
      return fmt::format("{} was kept with another shape or format than the call's", tensor->name);
    }
    outcome.outputs.push_back(at->second.bytes);
  }
  outcome.kind = Outcome::Kind::ran;
  return "";
}

/// A call of nothing but outputs, for a kernel that no pack here holds.
Call call_of(const KeptOutputs& kept) {
  Call call;
  for (const auto& [name, output] : kept) {
    CallTensor tensor;
    tensor.name = name;
    tensor.role = NBX_OUT;
    tensor.dtype = output.dtype;
    tensor.shape = output.shape;
    call.tensors.push_back(std::move(tensor));
  }
  return call;
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
  std::vector<std::int64_t> differing;
  out = elements_of(call, good.outcome, bad.outcome, &differing);
  if (!out.output.empty()) add_bound(out, call, *instance, differing, good, bad);
  return out;
}

PackDifference compare_kept(const KeptOutputs& good_outputs, const KeptOutputs& bad_outputs,
                            const std::filesystem::path& pack, const std::string& kernel, const std::string& problem,
                            std::uint64_t seed, std::chrono::milliseconds timeout) {
  PackDifference out;
  Side good(pack, timeout), bad(pack, timeout);
  Call call = call_of(good_outputs);
  std::unique_ptr<Instance> instance;
  std::string no_bound = "no pack here has the kernel";
  if (!pack.empty()) {
    no_bound = good.find(kernel);
    const Family* const family = no_bound.empty() ? family_named(good.kernel->family) : nullptr;
    if (family && !has_problem(*family, problem)) {
      no_bound = fmt::format("family {} has no such problem any more", family->name());
    } else if (family) {
      instance = family->make(problem_index(*family, problem), good.kernel->format, seed);
      call = call_for(*family, *good.kernel, instance->call());
      no_bound = good.understand(call);
      bad.arithmetic = good.arithmetic;
    } else if (no_bound.empty()) {
      no_bound = fmt::format("there is no contract for family '{}'", good.kernel->family);
    }
  }
  for (const auto& [side, kept] : {std::pair(&good, &good_outputs), std::pair(&bad, &bad_outputs)}) {
    out.why_not = take_kept(call, *kept, side->outcome);
    if (!out.why_not.empty()) return out;
  }
  std::vector<std::int64_t> differing;
  out = elements_of(call, good.outcome, bad.outcome, &differing);
  if (out.output.empty()) return out;
  out.no_bound = no_bound;
  if (no_bound.empty()) add_bound(out, call, *instance, differing, good, bad);
  return out;
}

}  // namespace nbx::contracts
