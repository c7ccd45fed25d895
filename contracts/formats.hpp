// The number formats as packs name them (DLPack), and comparison by bits with every NaN counted as one value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "contracts/call.hpp"
#include "oracle/format.hpp"

namespace nbx::contracts {

inline constexpr DLDataType f32_type{kDLFloat, 32, 1};
inline constexpr DLDataType f16_type{kDLFloat, 16, 1};
inline constexpr DLDataType bf16_type{kDLBfloat, 16, 1};
inline constexpr DLDataType e4m3_type{kDLFloat8_e4m3fn, 8, 1};
inline constexpr DLDataType int32_type{kDLInt, 32, 1};

inline bool same_type(DLDataType a, DLDataType b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }

/// The oracle's name for it; nothing where it has none (integers).
std::optional<oracle::Format> oracle_format(DLDataType type);
DLDataType dl_type(oracle::Format format);
/// "f32", "bf16", "int32".
std::string type_name(DLDataType type);
std::optional<DLDataType> type_from_name(const std::string& name);

std::uint32_t pattern_at(std::span<const std::byte> bytes, DLDataType type, std::int64_t index);
void put_pattern(Bytes& bytes, DLDataType type, std::int64_t index, std::uint32_t pattern);
double value_at(std::span<const std::byte> bytes, DLDataType type, std::int64_t index);

/// Equal bits, or both NaN.
bool same_value(std::uint32_t a, std::uint32_t b, DLDataType type);
/// The pattern with every NaN replaced by one: what fingerprints hash.
std::uint32_t canonical(std::uint32_t pattern, DLDataType type);

/// "0x1.91eb86p-3   0.19625" and, with `bits`, "0x3E3D70A4 = 0 | 01111100 | 01111010111000010100100".
std::string number_text(double value);
std::string bits_text(std::uint32_t pattern, DLDataType type);

}  // namespace nbx::contracts
