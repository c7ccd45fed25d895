// From a kernel's static functions to its nbx_kernel.
#pragma once

#include <iterator>
#include <string>

#include "kernels/pack/describe.hpp"
#include "kernels/pack/problem.hpp"

namespace nbx::pack {

/// A Kernel is a struct of static members:
///
///   void can_run(const nbx_problem&);
///   nbx_arithmetic arithmetic(const nbx_problem&);
///   std::uint64_t workspace_bytes(const nbx_problem&, const nbx_launch*);
///   void check(const nbx_problem&, const nbx_launch*);
///   void run(const nbx_problem&, const nbx_launch&);
///   family, format, equalities, and where it has them axes and optional_outputs;
///   where it decides something, std::string explain(const nbx_problem&, const nbx_launch*);
///   where it declares it, nbx_cost cost(const nbx_problem&, const nbx_launch*).
///
/// Each function throws a Refusal to say no.
template <class Kernel>
struct Entries {
  static nbx_status can_run(const nbx_kernel*, const nbx_problem* problem, char* message, std::size_t capacity) {
    return guarded(message, capacity, [&] { Kernel::can_run(*problem); });
  }
  static nbx_status arithmetic(const nbx_kernel*, const nbx_problem* problem, nbx_arithmetic* out, char* message,
                               std::size_t capacity) {
    return guarded(message, capacity, [&] { *out = Kernel::arithmetic(*problem); });
  }
  static nbx_status workspace_bytes(const nbx_kernel*, const nbx_problem* problem, const nbx_launch* how,
                                    std::uint64_t* out, char* message, std::size_t capacity) {
    return guarded(message, capacity, [&] { *out = Kernel::workspace_bytes(*problem, how); });
  }
  static nbx_status check(const nbx_kernel*, const nbx_problem* problem, const nbx_launch* how, char* message,
                          std::size_t capacity) {
    return guarded(message, capacity, [&] { Kernel::check(*problem, how); });
  }
  static nbx_status run(const nbx_kernel*, const nbx_problem* problem, const nbx_launch* how, char* message,
                        std::size_t capacity) {
    return guarded(message, capacity, [&] { Kernel::run(*problem, *how); });
  }
  static nbx_status explain(const nbx_kernel*, const nbx_problem* problem, const nbx_launch* how, char* message,
                            std::size_t capacity) {
    return guarded(message, capacity, [&] { write_message(message, capacity, Kernel::explain(*problem, how)); });
  }
  static nbx_status cost(const nbx_kernel*, const nbx_problem* problem, const nbx_launch* how, nbx_cost* out,
                         char* message, std::size_t capacity) {
    return guarded(message, capacity, [&] { *out = Kernel::cost(*problem, how); });
  }
};

/// `file` is the __FILE__ of the kernel's translation unit.
template <class Kernel>
constexpr nbx_kernel describe(const char* name, const char* file) {
  nbx_kernel out{};
  out.struct_size = sizeof(nbx_kernel);
  out.name = name;
  out.family = Kernel::family;
  out.format = Kernel::format;
  out.alignment = Kernel::format.bits / 8U;
  if constexpr (requires { Kernel::optional_outputs; }) {
    out.optional_outputs = std::data(Kernel::optional_outputs);
    out.optional_output_count = std::size(Kernel::optional_outputs);
  }
  if constexpr (requires { Kernel::axes; }) {
    out.axes = Kernel::axes.pointer;
    out.axis_count = std::size(Kernel::axes.item);
  }
  out.equalities = Kernel::equalities.pointer;
  out.equality_count = std::size(Kernel::equalities.item);
  out.can_run = Entries<Kernel>::can_run;
  out.arithmetic = Entries<Kernel>::arithmetic;
  out.workspace_bytes = Entries<Kernel>::workspace_bytes;
  out.check = Entries<Kernel>::check;
  out.run = Entries<Kernel>::run;
  out.unit = unit(file);
  if constexpr (requires(const nbx_problem& problem) { Kernel::explain(problem, nullptr); }) {
    out.explain = Entries<Kernel>::explain;
  }
  if constexpr (requires(const nbx_problem& problem) { Kernel::cost(problem, nullptr); }) {
    out.cost = Entries<Kernel>::cost;
  }
  return out;
}

/// One chain of fp32 fma in rising k, operands as they are.
constexpr nbx_dot simt_dot() {
  nbx_dot out{};
  out.struct_size = sizeof(nbx_dot);
  out.unit = NBX_SIMT_F32;
  out.chains = 1;
  out.operand = f32_type;
  return out;
}

/// The arithmetic of the tile layer: its functions' bounds, simt_dot() in both products, everything else 0.
constexpr nbx_arithmetic tile_arithmetic() {
  nbx_arithmetic out{};
  out.struct_size = sizeof(nbx_arithmetic);
  out.qk = out.pv = simt_dot();
  out.p_format = f32_type;
  out.exp_ulp = tile::exp_ulp;
  out.log_ulp = tile::log_ulp;
  out.divide_ulp = tile::divide_ulp;
  return out;
}

/// `failure` is what tile::launch returned.
inline void launched(const char* what, const char* failure) {
  if (failure != nullptr) throw Refusal{NBX_DEVICE_ERROR, std::string(what) + ": " + failure};
}

}  // namespace nbx::pack
