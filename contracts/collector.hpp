// Gathers what the runner's threads find out, and makes the run's result of it.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "contracts/gates/clause.hpp"
#include "contracts/gates/findings.hpp"
#include "contracts/plan.hpp"

namespace nbx::contracts {

class Collector {
 public:
  Collector(const Inventory& inventory, const RunOptions& options, std::span<const Finding> registered = findings())
      : inventory_(inventory), options_(options), findings_(registered) {}

  void add_case(const Inventory::Entry& entry, std::string_view clause, std::string_view sentence,
                const std::string& problem, Verdict verdict, double seconds);
  void add_control_case(const Inventory::Entry& entry, std::string_view clause, const std::string& problem,
                        const Verdict& verdict);
  /// How clearly one problem shows one mutant to the kernels that share an arithmetic.
  struct Sight {
    std::string arithmetic, mutant, problem;
    std::int64_t size_class = 0;
    double multiple = 0;
  };
  void add_sight(const Sight& sight);
  void add_error(std::string text);
  std::int64_t reds() const;

  /// `complete`: the plan ran to its end, so controls and power can be judged.
  RunResult result(const Plan& plan, bool complete);

 private:
  struct ControlCases {
    std::map<std::string, std::string> red, green, pending;  // clause to a problem, or to why it is pending
    std::string crashed;
    double share = 0;
  };
  ControlResult judge_control(const Inventory::Entry& entry) const;
  void judge_power(RunResult& result) const;
  void judge_findings(RunResult& result) const;
  /// A promise of which a whole run asked nothing is red: it would look kept.
  void add_broken_promises();
  void total_kernels(RunResult& result) const;

  const Inventory& inventory_;
  const RunOptions& options_;
  std::span<const Finding> findings_;
  mutable std::mutex mutex_;
  std::vector<CaseResult> cases_;
  std::vector<std::string> packs_of_cases_;  // parallel to cases_
  std::map<std::string, ControlCases> controls_;
  std::map<std::tuple<std::string, std::int64_t, std::string>, PowerResult> power_;
  std::vector<std::string> errors_;
  std::int64_t reds_ = 0;
};

/// The complete command that repeats something of a kernel: `verb` with `name`.
std::string again_command(const Inventory& inventory, const Inventory::Entry& entry, const std::string& verb,
                          const std::string& name, const RunOptions& options);

}  // namespace nbx::contracts
