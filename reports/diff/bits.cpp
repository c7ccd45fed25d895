#include "reports/diff/bits.hpp"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "contracts/pattern.hpp"

namespace nbx::reports::diff {
namespace {

using contracts::CaseFingerprints;
using contracts::Fingerprint;

ChangedOutput changed_output(const std::string& problem, const std::string& output, const Fingerprint& a,
                             const Fingerprint& b) {
  ChangedOutput out{problem, output, {}, std::max(a.blocks.size(), b.blocks.size())};
  for (std::size_t i = 0; i < out.of; ++i) {
    const bool same = a.blocks.size() == b.blocks.size() && a.blocks[i] == b.blocks[i];
    if (!same) out.blocks.push_back(i);
  }
  return out;
}

void compare_case(KernelBits& kernel, const std::string& problem, const CaseFingerprints& a,
                  const CaseFingerprints& b) {
  const std::size_t before = kernel.changed.size();
  ++kernel.cases;
  for (const auto& [output, print] : a) {
    const auto at = b.find(output);
    const Fingerprint other = at == b.end() ? Fingerprint{} : at->second;
    if (!(print == other)) kernel.changed.push_back(changed_output(problem, output, print, other));
  }
  for (const auto& [output, print] : b) {
    if (a.count(output) == 0) kernel.changed.push_back(changed_output(problem, output, {}, print));
  }
  if (kernel.changed.size() > before) ++kernel.changed_cases;
}

using Cases = std::map<std::string, CaseFingerprints>;

/// Those that the patterns select.
Cases selected(const Cases& cases, const std::string& kernel, const std::vector<std::string>& patterns) {
  Cases out;
  for (const auto& [problem, prints] : cases) {
    if (contracts::selects_case(patterns, kernel, "gate3.twin", problem)) out.emplace(problem, prints);
  }
  return out;
}

std::map<std::string, Cases> selected(const contracts::Record& record, const std::vector<std::string>& patterns) {
  std::map<std::string, Cases> out;
  for (const auto& [kernel, cases] : record.kernels) {
    if (Cases some = selected(cases, kernel, patterns); !some.empty()) out.emplace(kernel, std::move(some));
  }
  return out;
}

}  // namespace

BitsDiff compare_bits(const contracts::Record& first, const contracts::Record& second,
                      const std::vector<std::string>& patterns) {
  if (first.seed != second.seed) {
    throw std::runtime_error(
        fmt::format("seeds {} and {}; accepted: two records of one seed", first.seed, second.seed));
  }
  BitsDiff out;
  const auto ours = selected(first, patterns), theirs = selected(second, patterns);
  for (const auto& [kernel, cases] : ours) {
    const auto at = theirs.find(kernel);
    if (at == theirs.end()) {
      out.gone.push_back(kernel);
      continue;
    }
    KernelBits one;
    one.kernel = kernel;
    for (const auto& [problem, prints] : cases) {
      const auto other = at->second.find(problem);
      if (other == at->second.end()) {
        one.gone.push_back(problem);
      } else {
        compare_case(one, problem, prints, other->second);
      }
    }
    for (const auto& [problem, prints] : at->second) {
      if (cases.count(problem) == 0) one.added.push_back(problem);
    }
    ++out.kernels;
    out.cases += one.cases;
    if (one.differs()) out.differing.push_back(std::move(one));
  }
  for (const auto& [kernel, cases] : theirs) {
    if (ours.count(kernel) == 0) out.added.push_back(kernel);
  }
  return out;
}

void judge_changes(KernelBits& kernel,
                   const std::function<contracts::PackDifference(const std::string& problem)>& elements_of) {
  std::string last;
  for (const ChangedOutput& changed : kernel.changed) {
    if (changed.problem == last) continue;  // outputs of one case stand together
    last = changed.problem;
    contracts::PackDifference found = elements_of(changed.problem);
    const bool judged = found.why_not.empty() && found.no_bound.empty() && !found.output.empty();
    const bool leaves = judged && !found.within_bound();
    if (judged) ++(leaves ? kernel.outside : kernel.within);
    if (!kernel.elements || (leaves && kernel.outside == 1)) {
      kernel.elements = std::move(found);
      kernel.element_case = changed.problem;
    }
  }
}

contracts::KeptOutputs kept_outputs(const contracts::StoredOutputs& stored, const std::string& kernel,
                                    const std::string& problem, const CaseFingerprints& prints) {
  contracts::KeptOutputs out;
  for (const auto& [output, print] : prints) {
    auto kept = stored.find(kernel, problem, output);
    if (!kept) return {};
    out.emplace(output, std::move(*kept));
  }
  return out;
}

}  // namespace nbx::reports::diff
