#include "kernels/softmax/rows.hpp"

#include <algorithm>

namespace nbx::softmax {

Rows read_rows(const nbx_problem& problem, const char* family, DLDataType format, DLDeviceType device, bool with_data) {
  const pack::Problem given(problem, family, device);
  given.know({"x", "y"}, {"axis"});
  const pack::Tensor x = *given.tensor({"x", NBX_IN, 0, pack::max_rank});
  const pack::Tensor y = *given.tensor({"y", NBX_OUT, 0, pack::max_rank});
  pack::require_type(x, {format});
  pack::require_type(y, {format});
  if (x.rank != y.rank) {
    pack::refuse(NBX_INVALID, "y", "rank " + std::to_string(y.rank), "rank " + std::to_string(x.rank) + ", that of x");
  }
  if (!std::equal(x.shape, x.shape + x.rank, y.shape)) {
    pack::refuse(NBX_INVALID, "y", "shape " + pack::text(y.shape, y.rank),
                 pack::text(x.shape, x.rank) + ", the shape of x");
  }
  const std::int64_t stated = given.integer("axis").value_or(-1);
  if (stated < -x.rank || stated >= x.rank) {
    pack::refuse(NBX_INVALID, "axis", pack::text(stated),
                 "-" + std::to_string(x.rank) + " to " + std::to_string(x.rank - 1) + " for shape " +
                     pack::text(x.shape, x.rank));
  }
  const int axis = static_cast<int>(stated < 0 ? stated + x.rank : stated);
  if (x.shape[axis] == 0) {
    pack::refuse(NBX_INVALID, "x", "size 0 along axis " + std::to_string(axis), "at least one feature");
  }
  if (with_data) given.require_data();

  Rows out;
  out.features = x.shape[axis];
  out.x_step = x.shape[axis] == 1 ? 0 : x.stride[axis];
  out.y_step = x.shape[axis] == 1 ? 0 : y.stride[axis];
  out.x = x.data;
  out.y = y.data;
  out.rows = 1;
  for (int i = 0; i < x.rank; ++i) {
    if (i == axis || x.shape[i] == 1) continue;
    out.rows = static_cast<std::int64_t>(pack::product("x", {out.rows, x.shape[i]}));
    const int last = out.rank - 1;
    if (last >= 0 && out.x_stride[last] == x.stride[i] * x.shape[i] && out.y_stride[last] == y.stride[i] * x.shape[i]) {
      out.size[last] *= x.shape[i];
      out.x_stride[last] = x.stride[i];
      out.y_stride[last] = y.stride[i];
    } else {
      out.size[out.rank] = x.shape[i];
      out.x_stride[out.rank] = x.stride[i];
      out.y_stride[out.rank] = y.stride[i];
      ++out.rank;
    }
  }
  return out;
}

}  // namespace nbx::softmax
