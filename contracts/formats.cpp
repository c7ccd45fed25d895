#include "contracts/formats.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace nbx::contracts {
namespace {

struct Row {
  DLDataType type;
  oracle::Format format;
  const char* name;
  int exponent_bits;
};
constexpr Row rows[] = {
    {f32_type, oracle::Format::f32, "f32", 8},
    {f16_type, oracle::Format::f16, "f16", 5},
    {bf16_type, oracle::Format::bf16, "bf16", 8},
    {e4m3_type, oracle::Format::e4m3, "e4m3", 4},
    {{kDLFloat8_e5m2, 8, 1}, oracle::Format::e5m2, "e5m2", 5},
};

const Row* find(DLDataType type) {
  for (const Row& row : rows)
    if (same_type(row.type, type)) return &row;
  return nullptr;
}

}  // namespace

std::optional<oracle::Format> oracle_format(DLDataType type) {
  const Row* row = find(type);
  return row ? std::optional(row->format) : std::nullopt;
}

DLDataType dl_type(oracle::Format format) {
  for (const Row& row : rows)
    if (row.format == format) return row.type;
  return f32_type;  // tf32 is stored in fp32 words
}

std::string type_name(DLDataType type) {
  if (const Row* row = find(type)) return row->name;
  return fmt::format("{}{}", type.code == kDLInt ? "int" : type.code == kDLUInt ? "uint" : "type", type.bits);
}

std::optional<DLDataType> type_from_name(const std::string& name) {
  for (const Row& row : rows)
    if (name == row.name) return row.type;
  return std::nullopt;
}

std::uint32_t pattern_at(std::span<const std::byte> bytes, DLDataType type, std::int64_t index) {
  const std::size_t width = type.bits / 8;
  const std::byte* const at = bytes.data() + static_cast<std::size_t>(index) * width;
  std::uint32_t pattern = 0;  // little endian, as every machine that CUDA runs on
  if (width == 2)             // a width that the compiler knows is no call
    std::memcpy(&pattern, at, 2);
  else if (width == 4)
    std::memcpy(&pattern, at, 4);
  else
    std::memcpy(&pattern, at, width);
  return pattern;
}

void put_pattern(Bytes& bytes, DLDataType type, std::int64_t index, std::uint32_t pattern) {
  const std::size_t width = type.bits / 8;
  std::byte* const at = bytes.data() + static_cast<std::size_t>(index) * width;
  if (width == 2)
    std::memcpy(at, &pattern, 2);
  else if (width == 4)
    std::memcpy(at, &pattern, 4);
  else
    std::memcpy(at, &pattern, width);
}

double value_at(std::span<const std::byte> bytes, DLDataType type, std::int64_t index) {
  return oracle::decode(*oracle_format(type), pattern_at(bytes, type, index));
}

bool same_value(std::uint32_t a, std::uint32_t b, DLDataType type) {
  return a == b || canonical(a, type) == canonical(b, type);
}

std::uint32_t canonical(std::uint32_t pattern, DLDataType type) {
  const auto format = oracle_format(type);
  if (!format) return pattern;
  constexpr std::uint32_t one_nan = 0x7FFFFFFF;
  return std::isnan(oracle::decode(*format, pattern)) ? one_nan : pattern;
}

std::string number_text(double value) { return fmt::format("{:<22} {:.9g}", fmt::format("{:a}", value), value); }

std::string bits_text(std::uint32_t pattern, DLDataType type) {
  const Row* row = find(type);
  if (!row) return fmt::format("0x{:X}", pattern);
  const int width = type.bits, exponent = row->exponent_bits, mantissa = width - 1 - exponent;
  const auto field = [&](int low, int bits) { return (pattern >> low) & ((1u << bits) - 1u); };
  return fmt::format("0x{:0{}X} = {} | {:0{}b} | {:0{}b}", pattern, width / 4, pattern >> (width - 1),
                     field(mantissa, exponent), exponent, field(0, mantissa), mantissa);
}

}  // namespace nbx::contracts
