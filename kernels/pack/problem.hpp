// Reading a problem and a launch by name. Whatever is not asked for is refused by its name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/pack/nbx_pack.h"
#include "kernels/pack/refusal.hpp"

namespace nbx::pack {

inline constexpr int max_rank = 8;

inline constexpr DLDataType f32_type{kDLFloat, 32, 1};
inline constexpr DLDataType f16_type{kDLFloat, 16, 1};
inline constexpr DLDataType bf16_type{kDLBfloat, 16, 1};
inline constexpr DLDataType int32_type{kDLInt, 32, 1};

inline bool same(DLDataType a, DLDataType b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }
/// "f32", "bf16", or the numbers of a type that has no name here.
std::string text(DLDataType type);

/// A tensor of the problem. `data` is null where the problem only describes it.
struct Tensor {
  std::string_view name;
  nbx_role role = NBX_IN;
  DLDataType type{};
  int rank = 0;
  const std::int64_t* shape = nullptr;
  const std::int64_t* stride = nullptr;  // in elements
  std::byte* data = nullptr;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

/// The product of the sizes; the largest int64 where it does not fit.
std::int64_t elements(const std::int64_t* shape, int rank);

/// Strides of the last N axes of a tensor, broadcast where it has fewer. An axis of size 1 is read with stride 0,
/// whatever it stores.
template <int N>
struct Layout {
  std::int64_t stride[N];
};

template <int N>
Layout<N> layout(const Tensor& tensor) {
  Layout<N> out{};
  for (int axis = 0; axis < tensor.rank; ++axis) {
    out.stride[N - tensor.rank + axis] = tensor.shape[axis] == 1 ? 0 : tensor.stride[axis];
  }
  return out;
}

/// What a kernel expects of a tensor.
struct Expectation {
  std::string_view name;
  nbx_role role;
  int least_rank, most_rank;
  bool optional = false;
};

class Problem {
 public:
  /// Checks what all problems share: struct sizes, that names are given once, families, and the device of tensors.
  /// Ranks of a ring and their communicator are refused unless `ring`.
  Problem(const nbx_problem& problem, std::string_view family, DLDeviceType device, bool ring = false);

  /// Refuses tensors and parameters of other names. Call once, before any other reading.
  void know(std::initializer_list<std::string_view> tensors, std::initializer_list<std::string_view> params) const;

  /// The tensor, with its rank and role checked, its strides too where it is written: no two elements in one place.
  std::optional<Tensor> tensor(const Expectation& expected) const;

  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<double> real(std::string_view name) const;
  std::optional<std::string_view> word(std::string_view name) const;

  /// Every tensor that has elements has data.
  void require_data() const;

 private:
  const nbx_param* param(std::string_view name, nbx_param_kind kind) const;
  const nbx_problem& problem_;
  DLDeviceType device_;
};

/// `tensor`'s type is one of `types`; else refused as one that this kernel does not serve.
void require_type(const Tensor& tensor, std::initializer_list<DLDataType> types);

/// The options of a launch, each an integer; names that are not asked for are refused.
class Options {
 public:
  Options(const nbx_launch* launch, std::initializer_list<std::string_view> known);
  /// The value, or `otherwise` where absent; refused outside [least, most].
  std::int64_t integer(std::string_view name, std::int64_t otherwise, std::int64_t least, std::int64_t most) const;

 private:
  const nbx_launch* launch_;
};

/// The launch has at least `bytes` of workspace, aligned to 256. Returns it.
std::byte* require_workspace(const nbx_launch& launch, std::uint64_t bytes);

/// a · b · … in bytes; refused as `what` where it does not fit in 63 bits.
std::uint64_t product(std::string_view what, std::initializer_list<std::int64_t> factors);

/// Bytes of a buffer with the next one placed after it.
constexpr std::uint64_t round_up(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace nbx::pack
