#include "oracle/mutant.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace nbx::oracle {
namespace {

constexpr std::array mutants{
    Mutant::drop_last_key,        Mutant::extra_zero_key,  Mutant::drop_tile,      Mutant::scale_missing,
    Mutant::scale_twice,          Mutant::half_head_dim,   Mutant::no_rescale,     Mutant::unweighted_split_merge,
    Mutant::swapped_key_tiles,    Mutant::stale_value_row, Mutant::wrong_gqa_head, Mutant::zero_row,
    Mutant::ignore_query_and_key, Mutant::lse_without_max,
};

}  // namespace

std::string_view name(Mutant mutant) {
  switch (mutant) {
    case Mutant::drop_last_key:
      return "drop_last_key";
    case Mutant::extra_zero_key:
      return "extra_zero_key";
    case Mutant::drop_tile:
      return "drop_tile";
    case Mutant::scale_missing:
      return "scale_missing";
    case Mutant::scale_twice:
      return "scale_twice";
    case Mutant::half_head_dim:
      return "half_head_dim";
    case Mutant::no_rescale:
      return "no_rescale";
    case Mutant::unweighted_split_merge:
      return "unweighted_split_merge";
    case Mutant::swapped_key_tiles:
      return "swapped_key_tiles";
    case Mutant::stale_value_row:
      return "stale_value_row";
    case Mutant::wrong_gqa_head:
      return "wrong_gqa_head";
    case Mutant::zero_row:
      return "zero_row";
    case Mutant::ignore_query_and_key:
      return "ignore_query_and_key";
    case Mutant::lse_without_max:
      return "lse_without_max";
  }
  return "unknown";
}

std::span<const Mutant> all_mutants() { return mutants; }

double visibility(const Evaluation::Output& output, const Bounds& bounds, std::span<const double> mutant) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Expected& expected = output.expected;
  if (mutant.size() != expected.value.size()) return 0;
  double most = 0;
  for (std::size_t at = 0; at < mutant.size(); ++at) {
    // Elements of another class alone decide nothing, and power may not rest on open ones.
    if (expected.classes[at] != Class::finite || bounds.open[at] != 0) continue;
    if (!std::isfinite(mutant[at])) return infinity;
    const double error = std::fabs(mutant[at] - expected.value[at]);
    const double allowed = bounds.bound[at] + expected.radius[at];
    if (!(error > 0) || std::isnan(allowed)) continue;
    const double multiple = error / allowed;
    most = multiple > most ? multiple : most;
  }
  return most;
}

}  // namespace nbx::oracle
