#include "oracle/view.hpp"

#include <bit>
#include <cstring>
#include <vector>

namespace nbx::oracle {
namespace {

// All values of a format of up to 16 bits, by pattern.
std::vector<double> table_of(Format format) {
  std::vector<double> values(std::size_t{1} << (8 * traits(format).bytes));
  for (std::size_t bits = 0; bits < values.size(); ++bits) {
    values[bits] = decode(format, static_cast<std::uint32_t>(bits));
  }
  return values;
}

const std::vector<double>& table(Format format) {
  static const std::vector<double> f16 = table_of(Format::f16);
  static const std::vector<double> e4m3 = table_of(Format::e4m3);
  static const std::vector<double> e5m2 = table_of(Format::e5m2);
  return format == Format::f16 ? f16 : format == Format::e4m3 ? e4m3 : e5m2;
}

template <class Pattern>
Pattern pattern(std::span<const std::byte> bytes, std::int64_t index) {
  Pattern bits;
  std::memcpy(&bits, bytes.data() + index * static_cast<std::int64_t>(sizeof bits), sizeof bits);
  return bits;
}

}  // namespace

std::int64_t View::size() const {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

std::uint32_t View::bits(std::int64_t index) const {
  switch (traits(format).bytes) {
    case 1:
      return pattern<std::uint8_t>(bytes, index);
    case 2:
      return pattern<std::uint16_t>(bytes, index);
    default:
      return pattern<std::uint32_t>(bytes, index);
  }
}

double View::at(std::int64_t index) const { return decode(format, bits(index)); }

void View::read(std::int64_t first, std::span<double> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  switch (format) {
    case Format::f32:
      // Both are IEEE binary formats on every host that Eigen and Boost serve.
      for (std::int64_t i = 0; i < count; ++i) out[i] = std::bit_cast<float>(pattern<std::uint32_t>(bytes, first + i));
      return;
    case Format::bf16:
      for (std::int64_t i = 0; i < count; ++i) {
        out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(pattern<std::uint16_t>(bytes, first + i)) << 16);
      }
      return;
    case Format::tf32:
      for (std::int64_t i = 0; i < count; ++i) out[i] = at(first + i);
      return;
    case Format::f16: {
      const std::vector<double>& values = table(format);
      for (std::int64_t i = 0; i < count; ++i) out[i] = values[pattern<std::uint16_t>(bytes, first + i)];
      return;
    }
    case Format::e4m3:
    case Format::e5m2: {
      const std::vector<double>& values = table(format);
      for (std::int64_t i = 0; i < count; ++i) out[i] = values[pattern<std::uint8_t>(bytes, first + i)];
      return;
    }
  }
}

}  // namespace nbx::oracle
