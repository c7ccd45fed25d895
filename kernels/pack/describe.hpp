// Writing down what a kernel is: the constant parts of its nbx_kernel.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "kernels/pack/nbx_pack.h"
#include "kernels/tile/number.hpp"

namespace nbx::pack {

/// The interface takes arrays of pointers. A List holds the items and the pointers to them; it must be static.
template <class T, std::size_t N>
struct List {
  template <class... Items>
  constexpr explicit List(const Items&... items) : item{items...} {
    for (std::size_t i = 0; i < N; ++i) pointer[i] = &item[i];
  }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  T item[N];
  const T* pointer[N]{};
};

constexpr nbx_equality promised(const char* clause, const char* other = nullptr) {
  return {sizeof(nbx_equality), clause, other, nullptr};
}

constexpr nbx_equality not_promised(const char* clause, const char* reason) {
  return {sizeof(nbx_equality), clause, nullptr, reason};
}

/// `clause` holds along `option`; nullptr where bits may differ.
template <std::size_t N>
constexpr nbx_axis axis(const char* option, const char* clause, const std::array<std::int64_t, N>& values) {
  return {sizeof(nbx_axis), option, clause, values.data(), N};
}

/// "kernels/math/simt_f32.cpp" of a __FILE__.
constexpr const char* unit(const char* file) {
  const std::string_view path(file);
  const std::size_t at = path.rfind("kernels/");
  return at == std::string_view::npos ? file : file + at;
}

/// The DLPack type of a storage format of the tile layer.
template <class T>
inline constexpr DLDataType type_of{};
template <>
inline constexpr DLDataType type_of<float>{kDLFloat, 32, 1};
template <>
inline constexpr DLDataType type_of<tile::f16>{kDLFloat, 16, 1};
template <>
inline constexpr DLDataType type_of<tile::bf16>{kDLBfloat, 16, 1};
template <>
inline constexpr DLDataType type_of<tile::e4m3>{kDLFloat8_e4m3fn, 8, 1};

}  // namespace nbx::pack
