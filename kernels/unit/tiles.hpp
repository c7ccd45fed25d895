// The instructions themselves as kernels, family "matrix_unit": d [T, M, N] ← a [T, M, K] · b [T, K, N] + c [T, M, N],
// one chain of the unit per element. On the CPU the model, on the device the instruction: `nbx-contract probe` compares
// them.
#pragma once

#include "kernels/pack/entries.hpp"
#include "kernels/tile/load.hpp"
#include "kernels/tile/matrix_dot.hpp"

namespace nbx::unit {

/// A block is one of the T products. Tensors are dense.
template <class Unit, class T>
struct Tiles {
  const T *a, *b;
  const float* c;
  float* d;
  int rows, columns, depth;

  std::size_t tile_bytes() const {
    return tile::tile_bytes<float>(rows, depth) + tile::tile_bytes<float>(depth, columns) +
           tile::tile_bytes<float>(rows, columns);
  }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const auto x = block.template tile<float>(rows, depth);
    const auto y = block.template tile<float>(depth, columns);
    const auto sum = block.template tile<float>(rows, columns);
    const T* const of_a = a + block.index() * rows * depth;
    const T* const of_b = b + block.index() * depth * columns;
    const float* const of_c = c + block.index() * rows * columns;
    float* const of_d = d + block.index() * rows * columns;
    const int n = columns, k = depth;
    tile::load(block, x, rows, depth, 1, [=](std::int64_t r) { return of_a + r * k; });
    tile::load(block, y, depth, columns, 1, [=](std::int64_t r) { return of_b + r * n; });
    tile::load(block, sum, rows, columns, 1, [=](std::int64_t r) { return of_c + r * n; });
    tile::matrix_dot_add<Unit>(block, sum, x, y, rows, columns, depth);
    block.phase(rows * n, [=](std::int64_t i) { of_d[i] = sum(static_cast<int>(i) / n, static_cast<int>(i) % n); });
  }
};

template <class T>
inline constexpr DLDataType tensor_type = pack::type_of<T>;
template <>
inline constexpr DLDataType tensor_type<tile::e4m3>{kDLFloat8_e4m3fn, 8, 1};

/// The kernel of one unit on tensors a and b of format T.
template <class Unit, class T>
struct TilesKernel {
  static constexpr const char* family = "matrix_unit";
  static constexpr DLDataType format = tensor_type<T>;
  static constexpr pack::List<nbx_equality, 1> equalities{pack::promised("gate3.twin")};
  static constexpr std::int64_t most = 1024;  // rows, columns and depth, far past an instruction's

  struct Read {
    Tiles<Unit, T> program;
    std::int64_t tiles;
  };

  static Read read(const nbx_problem& problem, bool with_data) {
    const pack::Problem given(problem, family, tile::device);
    given.know({"a", "b", "c", "d"}, {});
    const pack::Tensor a = *given.tensor({"a", NBX_IN, 3, 3}), b = *given.tensor({"b", NBX_IN, 3, 3});
    const pack::Tensor c = *given.tensor({"c", NBX_IN, 3, 3}), d = *given.tensor({"d", NBX_OUT, 3, 3});
    for (const pack::Tensor* one : {&a, &b}) pack::require_type(*one, {format});
    for (const pack::Tensor* one : {&c, &d}) pack::require_type(*one, {pack::f32_type});
    const std::int64_t tiles = a.shape[0], rows = a.shape[1], depth = a.shape[2], columns = b.shape[2];
    const auto shaped = [&](const pack::Tensor& one, std::int64_t first, std::int64_t second) {
      const std::int64_t expected[3] = {tiles, first, second};
      for (int axis = 0; axis < 3; ++axis) {
        if (one.shape[axis] != expected[axis] || expected[axis] < 1 || (axis > 0 && expected[axis] > most)) {
          pack::refuse(NBX_INVALID, std::string(one.name), "shape " + pack::text(one.shape, 3),
                       pack::text(expected, 3) + ", with sizes from 1 to " + std::to_string(most));
        }
      }
      for (int axis = 2, step = 1; axis > 0; step *= static_cast<int>(one.shape[axis]), --axis) {
        if (one.shape[axis] > 1 && one.stride[axis] != step) {
          pack::refuse(NBX_UNSUPPORTED, std::string(one.name), "strides " + pack::text(one.stride, 3),
                       "a dense tensor");
        }
      }
    };
    shaped(a, rows, depth), shaped(b, depth, columns), shaped(c, rows, columns), shaped(d, rows, columns);
    require_model();
    if (with_data) given.require_data();
    return {{a.as<const T>(), b.as<const T>(), c.as<const float>(), d.as<float>(), static_cast<int>(rows),
             static_cast<int>(columns), static_cast<int>(depth)},
            tiles};
  }

  /// On the CPU, that the imitated architecture has such a unit.
  static void require_model() {
#if !defined(__CUDACC__)
    if constexpr (requires { Unit::format; }) {
      if (Unit::known(imitated()).group.length == 0) {
        pack::refuse(NBX_UNSUPPORTED, "imitated architecture", imitated().name, "one whose unit of this kind is known");
      }
    }
#endif
  }

  static void can_run(const nbx_problem& problem) { read(problem, false); }
  static nbx_arithmetic arithmetic(const nbx_problem&) { return pack::tile_arithmetic(); }
  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch*) {
    read(problem, false);
    return 0;
  }
  static void check(const nbx_problem& problem, const nbx_launch*) { read(problem, true); }
  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const Read call = read(problem, true);
    pack::launched("matrix unit", tile::launch(call.program, call.tiles, how));
  }
};

}  // namespace nbx::unit
