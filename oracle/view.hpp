// Exact inputs: bit patterns in their format, dense and row-major, decoded on reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "oracle/format.hpp"

namespace nbx::oracle {

/// A dense row-major tensor of `shape` in `format`. Does not own its bytes.
struct View {
  std::span<const std::byte> bytes;
  Format format = Format::f32;
  std::vector<std::int64_t> shape;

  std::int64_t size() const;
  /// The raw pattern and the exact value of element `index` in row-major order.
  std::uint32_t bits(std::int64_t index) const;
  double at(std::int64_t index) const;
  /// The exact values of elements first … first + out.size() - 1.
  void read(std::int64_t first, std::span<double> out) const;
};

}  // namespace nbx::oracle
