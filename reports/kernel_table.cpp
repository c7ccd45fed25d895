#include "reports/kernel_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/text.hpp"

namespace nbx::reports {
namespace {

using contracts::CaseResult;
using contracts::KernelResult;
using contracts::RunResult;
using contracts::State;

bool fails(const KernelResult& kernel) { return kernel.state == State::red || kernel.red > 0; }

std::string cases_text(const KernelResult& kernel) {
  if (fails(kernel)) return fmt::format("{} of {}", grouped(kernel.red), grouped(kernel.cases));
  return counted(kernel.cases, "case");
}

const CaseResult* first_case(const RunResult& result, const std::string& kernel, State state) {
  const auto found = std::find_if(result.cases.begin(), result.cases.end(),
                                  [&](const CaseResult& one) { return one.kernel == kernel && one.state == state; });
  return found == result.cases.end() ? nullptr : &*found;
}

// A case's name without its kernel, which stands in a column of its own.
std::string without_kernel(const std::string& name, const std::string& kernel) {
  return name.compare(0, kernel.size() + 1, kernel + "/") == 0 ? name.substr(kernel.size() + 1) : name;
}

std::string known_remark(const KernelResult& kernel, const RunResult& result) {
  std::vector<std::string> reasons;
  std::int64_t count = 0;
  for (const contracts::FindingResult& finding : result.findings) {
    if (finding.kernel != kernel.kernel || !finding.showed) continue;
    ++count;
    if (std::find(reasons.begin(), reasons.end(), finding.reason) == reasons.end()) reasons.push_back(finding.reason);
  }
  return counted(count, "finding") + (reasons.empty() ? "" : ": ") + joined(reasons, "; ");
}

std::string painted_verdict(const KernelResult& kernel, const Paint& paint) {
  const std::string word = left(verdict_word(kernel), 8);
  if (fails(kernel)) return paint.bad(word);
  return kernel.state == State::pass ? paint.good(word) : paint.warn(word);
}

}  // namespace

std::string verdict_word(const KernelResult& kernel) {
  if (fails(kernel)) return "FAIL";
  if (kernel.cases == 0 || kernel.state == State::declined) return "declined";
  switch (kernel.state) {
    case State::pass:
      return "ok";
    case State::known:
      return "known";
    case State::pending:
      return "pending";
    case State::stale:
      return "stale";
    case State::red:
    case State::declined:
      break;
  }
  return "FAIL";
}

std::string kernel_remark(const KernelResult& kernel, const RunResult& result, std::size_t width) {
  if (fails(kernel)) {
    const CaseResult* red = first_case(result, kernel.kernel, State::red);
    return red ? clipped_case(red->clause + "(" + red->problem + ")", width) : "";
  }
  if (kernel.state == State::known) return clipped(known_remark(kernel, result), width);
  if (kernel.state != State::pass || kernel.cases == 0) {
    const CaseResult* declined = first_case(result, kernel.kernel, State::declined);
    return declined ? clipped(declined->reason, width) : "";
  }
  if (kernel.worst_case.empty()) return "";
  const std::string worst = left(fmt::format("worst {} of bound", share_text(kernel.worst_share)), 22);
  const std::size_t used = width_of(worst) + 1;
  return worst + " " +
         clipped_case(without_kernel(kernel.worst_case, kernel.kernel), width > used ? width - used : std::size_t{0});
}

std::string kernel_table(const std::vector<const KernelResult*>& kernels, const RunResult& result, std::size_t width,
                         const Paint& paint) {
  std::size_t name_width = 0, cases_width = 0, time_width = 0;
  for (const KernelResult* kernel : kernels) {
    name_width = std::max(name_width, width_of(kernel->kernel));
    cases_width = std::max(cases_width, width_of(cases_text(*kernel)));
    time_width = std::max(time_width, width_of(duration(kernel->seconds)));
  }
  // Two blanks, the verdict of 8, and three gaps of three.
  const std::size_t fixed = 2 + 8 + 2 + name_width + 3 + cases_width + 3 + 3 + time_width;
  const std::size_t remark_width = std::max<std::size_t>(width > fixed ? width - fixed : 0, 24);
  std::string out;
  for (const KernelResult* kernel : kernels) {
    out += fmt::format("  {}  {}   {}   {}   {}\n", painted_verdict(*kernel, paint), left(kernel->kernel, name_width),
                       right(cases_text(*kernel), cases_width),
                       left(kernel_remark(*kernel, result, remark_width), remark_width),
                       right(duration(kernel->seconds), time_width));
  }
  return out;
}

}  // namespace nbx::reports
