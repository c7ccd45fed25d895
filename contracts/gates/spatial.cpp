#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "contracts/dense.hpp"
#include "contracts/gates/red.hpp"

namespace nbx::contracts {
namespace {

std::string plural(const std::string& axis, std::size_t n) {
  if (n == 1) return axis;
  return axis.ends_with("ch") ? axis + "es" : axis + "s";
}

/// How the touched coordinates of one axis lie, and nothing where all of them are touched.
std::string along(const std::string& axis, std::int64_t extent, const std::set<std::int64_t>& touched) {
  const auto n = static_cast<std::int64_t>(touched.size());
  const std::int64_t first = *touched.begin(), last = *touched.rbegin();
  if (n == 1) {
    const bool tail = extent > 1 && first == extent - 1;
    return fmt::format("{} {}{}", axis, first, tail ? fmt::format(" (the last of {})", extent) : "");
  }
  if (last - first + 1 == n) {
    std::string where = fmt::format("{} {}-{}", plural(axis, 2), first, last);
    if (first == 0)
      where += fmt::format(" (the first {} of {})", n, extent);
    else if (last == extent - 1)
      where += fmt::format(" (the last {} of {})", n, extent);
    else if (n % 16 == 0 && first % n == 0)
      where += fmt::format(" (tile {} of {})", first / n, n);
    return where;
  }
  std::vector<std::int64_t> list(touched.begin(), touched.end());
  const std::int64_t step = list[1] - list[0];
  const bool even = std::adjacent_find(list.begin(), list.end(),
                                       [&](std::int64_t a, std::int64_t b) { return b - a != step; }) == list.end();
  if (even && n > 2) return fmt::format("every {}th {} from {} to {}", step, axis, first, last);
  if (n <= 6) return fmt::format("{} {}", plural(axis, 2), fmt::join(list, ", "));
  return fmt::format("{} of {} {} between {} and {}", n, extent, plural(axis, 2), first, last);
}

}  // namespace

std::string spatial_pattern(const std::vector<std::int64_t>& shape, const std::vector<std::string>& axes,
                            const std::vector<std::int64_t>& elements) {
  if (elements.empty()) return "nowhere";
  std::vector<std::set<std::int64_t>> touched(shape.size());
  for (const std::int64_t element : elements) {
    const Shape at = coordinates(shape, element);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) touched[axis].insert(at[axis]);
  }
  std::string where;
  std::int64_t box = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    box *= static_cast<std::int64_t>(touched[axis].size());
    const bool all = static_cast<std::int64_t>(touched[axis].size()) == shape[axis];
    if (all && shape[axis] == 1) continue;
    where += where.empty() ? "" : ", ";
    where += all ? fmt::format("all {} {}", shape[axis], plural(axes[axis], 2))
                 : along(axes[axis], shape[axis], touched[axis]);
  }
  if (where.empty()) where = "the only element";
  if (const auto n = static_cast<std::int64_t>(elements.size()); n < box)
    where += fmt::format("; {} of the {} elements there", n, box);
  return where;
}

std::string index_text(const std::vector<std::int64_t>& shape, std::int64_t element) {
  return fmt::format("[{}]", fmt::join(coordinates(shape, element), ","));
}

}  // namespace nbx::contracts
