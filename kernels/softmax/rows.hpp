// The families softmax and log_softmax: x and y of one shape, any axis, any strides, as rows of features.
#pragma once

#include <cstdint>

#include "kernels/pack/problem.hpp"
#include "kernels/tile/tile.hpp"

namespace nbx::softmax {

/// Rows along one axis. The other axes are merged where their strides allow it, outermost first.
struct Rows {
  std::int64_t rows = 0;                // the product of the other axes
  std::int64_t features = 0;            // the size of the axis
  std::int64_t x_step = 0, y_step = 0;  // elements between features
  int rank = 0;
  std::int64_t size[pack::max_rank]{}, x_stride[pack::max_rank]{}, y_stride[pack::max_rank]{};
  const void* x = nullptr;
  void* y = nullptr;

  struct Offsets {
    std::int64_t x, y;
  };
  NBX_FUNCTION Offsets offsets(std::int64_t row) const {
    Offsets out{0, 0};
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::int64_t place = row % size[axis];
      row /= size[axis];
      out.x += place * x_stride[axis];
      out.y += place * y_stride[axis];
    }
    return out;
  }
};

/// Reads and checks a problem of `family` ("softmax" or "log_softmax") in one format.
Rows read_rows(const nbx_problem& problem, const char* family, DLDataType format, DLDeviceType device, bool with_data);

}  // namespace nbx::softmax
