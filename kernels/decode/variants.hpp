// decode.split, decode.vec and decode.published.
#pragma once

#include "kernels/decode/kernel.hpp"

namespace nbx::decode {

/// A block takes a whole GQA group. `Vec` has its bits.
template <class T, const char* Vec, class R = Rules>
struct SplitKernel : Kernel<T, R, FixedSplits, 0> {
  static constexpr std::array<std::int64_t, 3> block_head_values{1, 2, 3};
  static constexpr pack::List<nbx_axis, 1> axes{pack::axis("block_heads", "gate3.grid", block_head_values)};
  static constexpr pack::List<nbx_equality, 5> equalities{pack::promised("gate3.batch"), pack::promised("gate3.view"),
                                                          pack::promised("gate3.pad"), pack::promised("gate3.twin"),
                                                          pack::promised("gate3.pair", Vec)};
};

/// A block takes one query head. `Name` is its own name, which it equals on expanded K and V.
template <class T, const char* Name, class R = Rules>
struct VecKernel : Kernel<T, R, FixedSplits, 1> {
  static constexpr pack::List<nbx_equality, 5> equalities{pack::promised("gate3.batch"), pack::promised("gate3.view"),
                                                          pack::promised("gate3.pad"), pack::promised("gate3.twin"),
                                                          pack::promised("gate3.pair", Name)};
};

template <class T>
struct PublishedKernel : Kernel<T, Rules, PublishedSplits, 0> {
  static constexpr pack::List<nbx_equality, 4> equalities{
      pack::promised("gate3.batch"), pack::promised("gate3.view"),
      pack::not_promised("gate3.pad", "splits follow from the capacity of the cache"), pack::promised("gate3.twin")};
};

}  // namespace nbx::decode
