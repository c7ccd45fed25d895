// What the packs of this folder are made of: a kernel of family "copy" that copies x to y, element by element, by their
// strides. A pack plants its fault by exchanging an entry.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "kernels/pack/nbx_pack.h"

namespace nbx::test {

inline const DLTensor& tensor(const nbx_problem& problem, std::string_view name) {
  for (std::size_t i = 0; i < problem.tensor_count; ++i) {
    if (problem.tensors[i]->name == name) return problem.tensors[i]->tensor;
  }
  std::abort();
}

inline char* first_element(const DLTensor& of) { return static_cast<char*>(of.data) + of.byte_offset; }
inline std::int64_t element_bytes(const DLTensor& of) { return of.dtype.bits / 8; }

inline std::int64_t elements(const DLTensor& of) {
  std::int64_t count = 1;
  for (int axis = 0; axis < of.ndim; ++axis) count *= of.shape[axis];
  return count;
}

/// Bytes between element 0 and element `index` in row-major order.
inline std::int64_t place(const DLTensor& of, std::int64_t index) {
  std::int64_t at = 0;
  for (int axis = of.ndim - 1; axis >= 0; --axis) {
    at += index % of.shape[axis] * of.strides[axis];
    index /= of.shape[axis];
  }
  return at * element_bytes(of);
}

/// A host's address that is `moved` away, as a device's are.
inline char* move(void* address, std::int64_t by) {
  return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(address) + static_cast<std::uint64_t>(by));
}

inline void copy_elements(const nbx_problem& problem, std::int64_t count, std::int64_t moved = 0) {
  const DLTensor &x = tensor(problem, "x"), &y = tensor(problem, "y");
  char *const to = move(first_element(y), -moved), *const from = move(first_element(x), -moved);
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + place(y, i), from + place(x, i), static_cast<std::size_t>(element_bytes(x)));
  }
}

inline nbx_status can_run(const nbx_kernel*, const nbx_problem*, char*, std::size_t) { return NBX_OK; }
inline nbx_status arithmetic(const nbx_kernel*, const nbx_problem*, nbx_arithmetic* out, char*, std::size_t) {
  out->sum_depth = 17;
  return NBX_OK;
}
inline nbx_status no_workspace(const nbx_kernel*, const nbx_problem*, const nbx_launch*, std::uint64_t* out, char*,
                               std::size_t) {
  *out = 0;
  return NBX_OK;
}
inline nbx_status check(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t) { return NBX_OK; }
inline nbx_status run(const nbx_kernel*, const nbx_problem* problem, const nbx_launch*, char*, std::size_t) {
  copy_elements(*problem, elements(tensor(*problem, "x")));
  return NBX_OK;
}

inline nbx_kernel copy_kernel(const char* name) {
  nbx_kernel kernel{};
  kernel.struct_size = sizeof kernel;
  kernel.name = name;
  kernel.family = "copy";
  kernel.format = {kDLFloat, 32, 1};
  kernel.alignment = 1;
  kernel.can_run = can_run;
  kernel.arithmetic = arithmetic;
  kernel.workspace_bytes = no_workspace;
  kernel.check = check;
  kernel.run = run;
  return kernel;
}

inline nbx_pack copy_pack(const char* name, const nbx_kernel* const* kernels, std::size_t count) {
  nbx_pack pack{};
  pack.struct_size = sizeof pack;
  pack.pack_interface = NBX_PACK_INTERFACE;
  pack.name = name;
  pack.device = {kDLCPU, 0};
  pack.device_name = "host";
  pack.toolchain = __VERSION__;
  pack.kernels = kernels;
  pack.kernel_count = count;
  return pack;
}

}  // namespace nbx::test
