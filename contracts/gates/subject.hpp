// A kernel before a problem: what the clauses of one case look at. Runs are made once and shared by the clauses.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contracts/child/executor.hpp"
#include "contracts/families/family.hpp"
#include "contracts/records.hpp"

namespace nbx::contracts {

/// A problem's instance with what the oracle says of it, shared by all kernels of one format.
struct Prepared {
  const Family* family = nullptr;
  const ProblemInfo* problem = nullptr;
  std::shared_ptr<const Instance> instance;
  std::vector<oracle::Arithmetic> arithmetics;
  oracle::Evaluation evaluation;
  oracle::Refine refine;

  /// Index of an output's evaluation by name.
  std::size_t output_index(const std::string& name) const;
};

/// An honest kernel of another pack with the same name (twin) or of the same pack (pair).
struct Partner {
  Executor* executor = nullptr;
  const KernelInfo* kernel = nullptr;
};

class Subject {
 public:
  Subject(const KernelInfo& kernel, const PackInfo& pack, Executor& executor, const Family& family)
      : kernel_(kernel), pack_(pack), executor_(executor), family_(family) {}

  const KernelInfo& kernel() const { return kernel_; }
  const PackInfo& pack() const { return pack_; }
  const Family& family() const { return family_; }
  Executor& executor() { return executor_; }

  /// The kernel's own form of a call.
  Call call(const Call& plain) const { return call_for(family_, kernel_, plain); }
  /// The name that its promises are made under: an honest kernel's own, a control's `mutates`.
  const std::string& honest_name() const { return kernel_.control ? kernel_.control->mutates : kernel_.name; }

  const Prepared* prepared = nullptr;
  std::size_t arithmetic = 0;  // into prepared->arithmetics
  bool full = false;
  bool explaining = false;  // a pass is told in full too
  std::uint64_t seed = 1;
  std::function<std::optional<Partner>(const std::string& kernel)> partner;  // of this pack
  std::function<std::optional<Partner>()> twin;                              // of another device's pack
  const Records* records = nullptr;

  /// The plain call under its default launch, run once.
  const Outcome& base();
  /// The plain call with one launch option, run once: gate 1 asks for the values and gate 3 for the bits of the same
  /// run.
  const Outcome& along(const AxisInfo& axis, std::int64_t value);
  Outcome run(const Call& call) { return executor_.execute(call); }

 private:
  const KernelInfo& kernel_;
  const PackInfo& pack_;
  Executor& executor_;
  const Family& family_;
  std::optional<Outcome> base_;
  std::map<std::pair<std::string, std::int64_t>, Outcome> along_;  // by option and value
};

}  // namespace nbx::contracts
