// What a mutation is: one way to be wrong, how it is planted, where it must be seen, and the kernels it is planted in.
// Each kernel that it is planted in is one control, named <honest kernel>.<mutation>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "controls/call.hpp"
#include "kernels/pack/entries.hpp"
#include "kernels/pack/nbx_pack.h"

namespace nbx::controls {

/// A fault around an honest kernel.
struct Fault {
  /// Changes the call before the honest kernel sees it, in each entry but the arithmetic. Data may be touched where
  /// call.has_data() says so, in `run` alone.
  void (*before)(Call& call) = nullptr;
  /// After a run that went well: changes what was written.
  void (*after)(Call& call) = nullptr;
  /// After a status other than NBX_OK: what the caller is told.
  void (*refused)(char* message, std::size_t capacity) = nullptr;
  /// What the kernel says that it needs of workspace.
  std::uint64_t (*workspace)(std::uint64_t honest) = nullptr;
  /// What the kernel declares that a run takes.
  void (*cost)(nbx_cost& cost) = nullptr;
};

using RunEntry = nbx_status (*)(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t);

/// One control: a fault around the honest kernel, or the run of a kernel composed of its parts with one replaced.
struct Target {
  const nbx_kernel* honest = nullptr;
  const Fault* fault = nullptr;
  RunEntry composed = nullptr;
};

template <class T, std::size_t N>
struct Few {
  constexpr Few() = default;
  constexpr Few(std::initializer_list<T> given) {
    for (const T& one : given) item[count++] = one;
  }
  constexpr std::span<const T> all() const { return {item, count}; }

  T item[N]{};
  std::size_t count = 0;
};

struct Mutation {
  const char* name;
  const char* planted;  // one sentence; of an `equivalent` or `within bound` one also the proof
  Few<const char*, 3> red_at{};
  Few<const char*, 4> problems{};
  Few<Target, 6> on{};
  const char* verdict = nullptr;  // see nbx_control
  bool crashes = false;
  std::uint32_t alignment = 0;  // bytes that the control claims of tensors; 0: as the honest kernel
};

/// A fault around these kernels.
template <class... Kernels>
constexpr Few<Target, 6> around(const Fault& fault, const Kernels&... honest) {
  return {Target{&honest, &fault, nullptr}...};
}

/// A kernel that is composed of the parts of `honest` with one of them replaced.
template <class Kernel>
constexpr Target in_place_of(const nbx_kernel& honest) {
  return {&honest, nullptr, pack::Entries<Kernel>::run};
}

}  // namespace nbx::controls
