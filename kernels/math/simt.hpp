// math: every score of the problem at once. math.simt, and math.published as the described system shipped it.
#pragma once

#include <array>

#include "kernels/math/kernel.hpp"

namespace nbx::math {

template <class T, class R, template <class, class> class S>
struct WholeKernel : Common<WholeKernel<T, R, S>, T, R, S> {
  static pack::Options options(const nbx_launch* how) { return {how, {"block_rows"}}; }
  static std::int64_t height(const nbx_launch* how, std::int64_t Tq) {
    options(how);
    return Tq;
  }
  static constexpr std::array<std::int64_t, 3> block_row_values{8, 32, 64};
  static constexpr pack::List<nbx_axis, 1> axes{pack::axis("block_rows", "gate3.grid", block_row_values)};
};

/// math.simt in format T; `Name` is its own name, which it equals on expanded K and V.
template <class T, const char* Name, class R = Rules, template <class, class> class S = Stages>
struct SimtKernel : WholeKernel<T, R, S> {
  static constexpr std::array<const char*, 1> optional_outputs{"lse"};
  static constexpr pack::List<nbx_equality, 7> equalities{
      pack::promised("gate3.grid"),      pack::promised("gate3.rows"), pack::promised("gate3.batch"),
      pack::promised("gate3.view"),      pack::promised("gate3.pad"),  pack::promised("gate3.twin"),
      pack::promised("gate3.pair", Name)};
};

/// math.published in format T.
template <class T, const char* Name>
struct PublishedKernel : WholeKernel<T, PublishedRules, Stages> {
  static constexpr pack::List<nbx_equality, 7> equalities{
      pack::promised("gate3.grid"),
      pack::promised("gate3.rows"),
      pack::promised("gate3.batch"),
      pack::promised("gate3.view"),
      pack::not_promised("gate3.pad", "masks are added, so that a NaN behind one reaches its row"),
      pack::promised("gate3.twin"),
      pack::promised("gate3.pair", Name)};
};

}  // namespace nbx::math
