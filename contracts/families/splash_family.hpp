// Splash attention as the contracts know it: one family for each way of calling, over one table of problems.
#pragma once

#include "contracts/families/family.hpp"
#include "contracts/families/splash_inputs.hpp"

namespace nbx::contracts {

enum class SplashRole : std::uint8_t {
  online,    // q, k, v to o
  hybrid,    // with mk and k_mean
  uniform,   // likewise, every block eligible; also the sums
  metadata,  // q, k, v to mk, k_mean, norms
  dispatch,  // q, k, v to o, and what metadata it made
};
inline constexpr SplashRole splash_roles[] = {SplashRole::online, SplashRole::hybrid, SplashRole::uniform,
                                              SplashRole::metadata, SplashRole::dispatch};

const Family& splash_family(SplashRole role);

/// What ways and refusals are made from.
struct SplashAsk {
  const SplashProblem& problem;
  SplashRole role;
  const Call& call;  // the plain one
  bool full = false;
};
std::vector<Way> splash_ways(const SplashAsk& ask, std::string_view clause);
std::vector<Refusal> splash_refusals(SplashRole role, const Call& plain);
/// k and v past 2^31 elements, for a plain call of few.
std::vector<Edge> splash_edges(const Call& plain);

/// The plain call of a problem.
Call splash_call(const SplashProblem& problem, SplashRole role, const SplashData& data);
inline bool takes_metadata(SplashRole role) { return role == SplashRole::hybrid || role == SplashRole::uniform; }
inline bool makes_metadata(SplashRole role) { return role == SplashRole::metadata || role == SplashRole::dispatch; }

/// Outputs that are no attention: metadata, and the sums behind o. `of_o` and `of_lse` as the oracle gives them.
std::vector<oracle::Evaluation::Output> metadata_outputs(const SplashProblem& problem, SplashRole role,
                                                         const SplashData& data,
                                                         std::span<const oracle::Arithmetic> arithmetics);
std::vector<oracle::Evaluation::Output> sum_outputs(const SplashProblem& problem, const SplashData& data,
                                                    const oracle::Evaluation& attention,
                                                    std::span<const oracle::Arithmetic> arithmetics);
/// m_i of every row [B·H·Tq], as a real number rounded to double; NaN: online.
std::vector<double> row_shifts(const SplashProblem& problem, const SplashData& data);
/// gate1.lost_mass.
OwnVerdict judge_lost_mass(const SplashProblem& problem, SplashRole role, const SplashData& data, const Call& call,
                           const std::vector<Bytes>& outputs);
/// gate1.centring: against the keys before a vector was added to all of them. `moved`: what was evaluated with it.
OwnVerdict judge_centring(const SplashProblem& problem, const SplashData& data, const Call& call,
                          const std::vector<Bytes>& outputs, const oracle::Evaluation& moved);

}  // namespace nbx::contracts
