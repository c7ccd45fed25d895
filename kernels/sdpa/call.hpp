// From a call of the family sdpa to one of the family attention: the layout of K, formats, the route.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/pack/problem.hpp"
#include "kernels/sdpa/route.hpp"

namespace nbx::sdpa {

/// q, k or v as the attention kernel reads it: K as [B, Hk, Tk, D], in the format of all.
struct Operand {
  pack::Tensor given;        // as the caller has it
  std::int64_t shape[4]{};   // (batch, heads, positions, dims)
  std::int64_t stride[4]{};  // of what the caller has, in the same order
  bool narrowed = false;     // from the caller's format, into the workspace
  std::uint64_t place = 0;   // there, in bytes

  std::uint64_t elements() const;
};

/// What the pack has to choose from.
struct KernelList {
  const nbx_kernel* const* first;
  std::size_t count;

  const nbx_kernel* find(const std::string& name) const;
};

/// One call, read and routed; throws a Refusal. Keeps pointers into the caller's problem.
class RoutedCall {
 public:
  RoutedCall(const nbx_problem& problem, DLDataType format, DLDeviceType device, const KernelList& kernels,
             bool with_data);
  RoutedCall(const RoutedCall&) = delete;
  RoutedCall& operator=(const RoutedCall&) = delete;

  const Route& route() const { return route_; }
  const nbx_kernel& kernel() const { return *kernel_; }
  const std::array<Operand, 3>& operands() const { return operands_; }
  /// Bytes of narrowed operands at the workspace's start.
  std::uint64_t narrowed_bytes() const { return narrowed_bytes_; }

  /// The call of the attention kernel; narrowed operands lie in `workspace`, null where no data is looked at.
  const nbx_problem& inner(std::byte* workspace);
  /// Its launch; `how` may be null, and the workspace then starts behind the narrowed operands.
  const nbx_launch* inner(const nbx_launch* how);

 private:
  void read_operands(const pack::Problem& given);
  void read_layout(const pack::Problem& given);
  void choose_format(DLDataType format);
  void read_question(const pack::Problem& given);

  std::array<Operand, 3> operands_;  // q, k, v
  RouteQuestion question_;
  Route route_;
  const nbx_kernel* kernel_ = nullptr;
  DLDataType format_;
  std::uint64_t narrowed_bytes_ = 0;
  std::array<std::array<std::int64_t, 4>, 3> shapes_{}, strides_{};  // of the inner operands
  std::vector<nbx_tensor> tensors_;
  std::vector<const nbx_tensor*> pointers_;
  std::vector<nbx_param> params_, options_;
  nbx_problem problem_;
  nbx_launch launch_{};
};

}  // namespace nbx::sdpa
