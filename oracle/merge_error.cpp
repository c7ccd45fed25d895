#include "oracle/merge_error.hpp"

#include <algorithm>
#include <cmath>

#include "oracle/error_model.hpp"

namespace nbx::oracle {
namespace {

constexpr double kU = 0x1p-24;  // unit roundoff of fp32
constexpr double kLn2 = 0x1.62e42fefa39efp-1;

}  // namespace

MergeError merge_error(const Arithmetic& a, std::int64_t keys) {
  if (a.merges == 0) return {};
  const auto merges = static_cast<double>(a.merges);
  const double per_magnitude = (4 * merges + 1) * kU;
  return {.at_maximum = per_magnitude,
          .at_distance = per_magnitude,
          .of_keys = per_magnitude * std::log(static_cast<double>(std::max<std::int64_t>(keys, 1))),
          .of_logarithms = 2 * kU * kLn2 * a.log_ulp * (127 + merges),
          .of_window = a.fixed_shift ? 128 * kU * kLn2 : 0,
          .of_exponentials = compounded(2 * kU * a.exp_ulp, 2 * a.merges),
          .of_roundings = compounded(kU, 8 * a.merges),
          .of_underflow = 4 * merges * (a.flush_to_zero ? 0x1p-126 : 0x1p-150),
          .mixed = a.fixed_shift};
}

void add_merges(const MergeError& merges, ErrorModel& m) {
  m.distance = compose(m.distance, merges.at_distance);
  m.distance_maximum = merges.at_maximum;
  m.distance_absolute += merges.of_keys + merges.of_logarithms + merges.of_window;
  m.mixed = merges.mixed;
  const double relative = compose(merges.of_exponentials, merges.of_roundings);
  m.rescale_relative = compose(m.rescale_relative, relative);
  m.sum_relative = compose(m.sum_relative, m.rescale_relative);
  m.output_absolute += merges.of_underflow;
}

}  // namespace nbx::oracle
