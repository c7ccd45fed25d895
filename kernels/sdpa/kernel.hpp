// sdpa: one entry for all of attention, which takes the kernel that the route says.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>

#include "kernels/pack/entries.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/sdpa/call.hpp"
#include "kernels/sdpa/narrow.hpp"

namespace nbx::sdpa {

/// What a route kernel decides. A control derives from it and hides one function.
struct Rules {
  /// The call as it is routed.
  static nbx_problem asked(const nbx_problem& problem) { return problem; }
  /// The call as the kernel of the route gets it.
  static void hand_on(const RoutedCall&, nbx_problem&, std::vector<nbx_param>&) {}
};

/// sdpa.route in format T, the narrowest of its operands. `Name` is its own name.
template <class T, const char* Name, class R = Rules>
struct RouteKernel {
  static constexpr const char* family = "sdpa";
  static constexpr DLDataType format = pack::type_of<T>;

  /// A call, and a way to hand it to an entry of the kernel that the route says.
  struct Handed {
    nbx_problem given;
    RoutedCall call;

    Handed(const nbx_problem& problem, bool with_data)
        : given(R::asked(problem)),
          call(given, format, tile::device, {kernels::all, std::size(kernels::all)}, with_data) {}

    template <class Entry>
    void to(std::byte* workspace, const Entry& entry) {
      nbx_problem inner = call.inner(workspace);
      std::vector<nbx_param> params(inner.params, inner.params + inner.param_count);
      R::hand_on(call, inner, params);
      inner.params = params.data();
      inner.param_count = params.size();
      char message[1024] = "";
      const nbx_status status = entry(call.kernel(), inner, message, sizeof message);
      if (status != NBX_OK) throw pack::Refusal{status, message};
    }
  };

  static void can_run(const nbx_problem& problem) {
    Handed(problem, false)
        .to(nullptr, [](const nbx_kernel& kernel, const nbx_problem& inner, char* message, std::size_t capacity) {
          return kernel.can_run(&kernel, &inner, message, capacity);
        });
  }

  static nbx_arithmetic arithmetic(const nbx_problem& problem) {
    nbx_arithmetic out{};
    Handed(problem, false)
        .to(nullptr, [&](const nbx_kernel& kernel, const nbx_problem& inner, char* message, std::size_t capacity) {
          out.struct_size = sizeof out;
          return kernel.arithmetic(&kernel, &inner, &out, message, capacity);
        });
    return out;
  }

  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Options none(how, {});
    Handed handed(problem, false);
    std::uint64_t bytes = 0;
    handed.to(nullptr, [&](const nbx_kernel& kernel, const nbx_problem& inner, char* message, std::size_t capacity) {
      return kernel.workspace_bytes(&kernel, &inner, handed.call.inner(how), &bytes, message, capacity);
    });
    return handed.call.narrowed_bytes() + bytes;
  }

  static void check(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Options none(how, {});
    if (how != nullptr) pack::require_workspace(*how, workspace_bytes(problem, how));
    Handed handed(problem, true);
    // Narrowed operands are not there yet; shapes and formats are what is looked at.
    handed.to(nullptr, [&](const nbx_kernel& kernel, const nbx_problem& inner, char* message, std::size_t capacity) {
      return kernel.check(&kernel, &inner, handed.call.inner(how), message, capacity);
    });
  }

  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const pack::Options none(&how, {});
    std::byte* const workspace = pack::require_workspace(how, workspace_bytes(problem, &how));
    Handed handed(problem, true);
    for (const Operand& operand : handed.call.operands()) {
      if (operand.narrowed) narrow(operand, workspace + operand.place, how);
    }
    handed.to(workspace, [&](const nbx_kernel& kernel, const nbx_problem& inner, char* message, std::size_t capacity) {
      return kernel.run(&kernel, &inner, handed.call.inner(&how), message, capacity);
    });
  }

  static std::string explain(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Options none(how, {});
    Handed handed(problem, false);
    std::string text = handed.call.route().text() + ", by " + handed.call.kernel().name;
    if (handed.call.kernel().explain != nullptr) {
      handed.to(nullptr, [&](const nbx_kernel& kernel, const nbx_problem& inner, char* message, std::size_t capacity) {
        const nbx_status status = kernel.explain(&kernel, &inner, handed.call.inner(how), message, capacity);
        if (status == NBX_OK) text += std::string("; ") + message;
        return status;
      });
    }
    return text;
  }

  static constexpr std::array<const char*, 1> optional_outputs{"lse"};
  static constexpr pack::List<nbx_equality, 6> equalities{
      pack::not_promised("gate3.rows", "the route depends on the number of queries"),
      pack::not_promised("gate3.batch", "the route depends on the number of heads and sequences"),
      pack::not_promised("gate3.pad", "the route depends on the number of keys"),
      pack::promised("gate3.view"),
      pack::promised("gate3.twin"),
      pack::promised("gate3.pair", Name)};

 private:
  static void narrow(const Operand& operand, std::byte* to, const nbx_launch& how) {
    if (pack::same(operand.given.type, pack::f32_type)) return narrow_from<float>(operand, to, how);
    if (pack::same(operand.given.type, pack::f16_type)) return narrow_from<tile::f16>(operand, to, how);
    narrow_from<tile::bf16>(operand, to, how);
  }

  template <class From>
  static void narrow_from(const Operand& operand, std::byte* to, const nbx_launch& how) {
    NarrowProgram<From, T> program{operand.given.template as<const From>(), reinterpret_cast<T*>(to), {}, {}};
    for (int axis = 0; axis < 4; ++axis) {
      program.shape[axis] = operand.shape[axis];
      program.stride[axis] = operand.shape[axis] == 1 ? 0 : operand.stride[axis];
    }
    pack::launched("narrow", tile::launch(program, program.blocks(), how));
  }
};

}  // namespace nbx::sdpa
