// Where the elements of a tensor lie in its storage, and how dense data gets there and back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "contracts/call.hpp"
#include "contracts/child/poison.hpp"

namespace nbx::contracts::sandbox {

/// Spans above this are reserved sparse, and only the surroundings of their elements are poisoned and checked.
inline constexpr std::int64_t sparse_above = std::int64_t{256} << 20;
/// How far those surroundings and the guard zones reach.
inline constexpr std::int64_t guard_bytes = 4096;

/// Bytes [begin, end) of a storage.
struct Window {
  std::int64_t begin, end;
};

class TensorLayout {
 public:
  /// Throws std::invalid_argument where strides, offset or extents are negative, do not match the shape, or the span
  /// does not fit 2^46 bytes.
  explicit TensorLayout(const CallTensor& tensor);

  std::int64_t elements() const { return elements_; }
  std::int64_t dense_bytes() const { return elements_ * unit_; }
  /// From the start of the storage to the end of the last element; `offset` elements for an empty tensor.
  std::int64_t span_bytes() const { return span_ * unit_; }
  std::int64_t offset_bytes() const { return offset_ * unit_; }
  std::int64_t unit() const { return unit_; }
  const std::vector<std::int64_t>& strides() const { return strides_; }  // in elements, one per axis of the shape
  /// The storage is the dense data, without a gap.
  bool is_dense() const;
  /// Two elements may share a place (stride 0, or axes that reach into each other).
  bool may_overlap() const;

  /// The parts of the storage that are poisoned and checked, rising and disjoint: all of it, or above sparse_above
  /// guard_bytes on both sides of each run of elements.
  std::vector<Window> windows() const;

  void scatter(const std::byte* dense, std::byte* storage) const;
  void gather(const std::byte* storage, std::byte* dense) const;
  void poison_elements(std::byte* storage, std::uint64_t word) const;
  /// Elements that differ from `dense`: bytes, relative to element 0.
  Difference changed(const std::byte* storage, const std::byte* dense) const;
  bool all_poison(const std::byte* storage, std::uint64_t word) const;

 private:
  /// Elements at `place`, place + stride, ... of the storage that are number `index`, index + 1, ... of the dense data.
  struct Run {
    std::int64_t place, index, count, stride;
  };
  struct Axis {
    std::int64_t extent, stride;
  };
  template <class F>
  void each_run(F f) const;

  std::int64_t unit_ = 1, offset_ = 0, elements_ = 1, span_ = 0;
  std::vector<std::int64_t> strides_;
  std::vector<Axis> axes_;  // axes of extent 1 dropped, neighbours that are one axis merged; never empty
};

}  // namespace nbx::contracts::sandbox
