// The small oracle: attention problems whose answers are known without computing an exponential. It checks the other
// references.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "oracle/reference.hpp"

namespace nbx::oracle {

/// A problem with its answers. Owns the bytes that `input` views, so it moves and does not copy.
struct ExactCase {
  std::string name;
  std::vector<std::byte> q, k, v, bias;
  AttentionInput input;
  std::vector<boost::multiprecision::cpp_rational> o;
  /// LSE = lse_score + ln(lse_count); a count of 0 stands for -inf. Empty where it is not known.
  std::vector<boost::multiprecision::cpp_rational> lse_score;
  std::vector<std::int64_t> lse_count;

  ExactCase() = default;
  ExactCase(ExactCase&&) = default;
  ExactCase& operator=(ExactCase&&) = default;
};

/// For one format of q, k and v, with random other operands drawn from `seed`:
/// Q = 0: O is the mean of the V rows that a row sees, LSE = ln n; the same with one-hot V;
/// V = 1: O = 1; a single visible key: its V row copied, LSE its score; pairs of equal keys with values ±v: O = 0;
/// rows that see nothing: O = 0, LSE = -inf.
std::vector<ExactCase> exact_cases(Format format, std::uint64_t seed);

/// Names of outputs and elements ("o[17]") that `evaluation` does not enclose.
std::vector<std::string> missed(const ExactCase& problem, const Evaluation& evaluation);

}  // namespace nbx::oracle
