// What instances of splash attention share, with a ring and without.
#pragma once

#include <memory>

#include "contracts/families/family.hpp"
#include "contracts/families/splash_problems.hpp"
#include "oracle/splash.hpp"

namespace nbx::contracts {

/// Attention in exponents of two over views of `splash`.
oracle::AttentionInput splash_attention(const oracle::SplashInput& splash);

/// A problem as families list it, by the sizes of all its keys.
ProblemInfo splash_problem_info(const SplashProblem& problem, std::string name, const std::string& kind);

/// The oracle's first outputs are attention, o and the LSE behind it; all others are known as they stand.
class SplashInstanceBase : public Instance {
 public:
  oracle::Refine refiner() const override;
  oracle::BoundParts parts(const oracle::Arithmetic& arithmetic, std::size_t output,
                           std::int64_t element) const override;
  /// The other outputs as they should be: a mutant is to be seen in o.
  std::vector<std::vector<double>> mutate(oracle::Mutant mutant, std::uint64_t position) const override;

 protected:
  virtual oracle::AttentionInput input() const = 0;
  /// Where it is false, no output is attention.
  virtual bool attends() const { return true; }

  bool is_attention(std::size_t output) const { return attends() && output < 2; }
  /// Every evaluation has to pass here.
  oracle::Evaluation kept(oracle::Evaluation evaluation) const;
  const oracle::Evaluation& last() const { return *last_; }

 private:
  mutable std::shared_ptr<oracle::Evaluation> last_;
};

}  // namespace nbx::contracts
