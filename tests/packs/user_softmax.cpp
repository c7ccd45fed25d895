// A user's own softmax as a pack: everything that it takes, in one file, with the interface's header alone.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>

#include "kernels/pack/nbx_pack.h"

// How many of a row's columns the sum takes. user_softmax_wrong.cpp plants its fault here.
#ifndef USER_SOFTMAX_SUMMED
#define USER_SOFTMAX_SUMMED(columns) (columns)
#endif

namespace {

struct Message {
  char* text;
  size_t capacity;

  nbx_status refuse(nbx_status status, const char* argument, const char* value, const char* accepted) const {
    std::snprintf(text, capacity, "%s is %s; accepted: %s", argument, value, accepted);
    return status;
  }
};

struct Number {
  char text[24];
  explicit Number(std::int64_t value) { std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value)); }
};

constexpr int most_rank = 8;
// A long row's sum by blocks: from left to right alone, its bound at 65,536 columns would be too wide to see a lost
// tile.
constexpr std::int64_t block_columns = 256;

/// What one problem asks for, once it is known to be right.
struct Softmax {
  const DLTensor* x = nullptr;  // [..., columns at `axis`, ...]
  const DLTensor* y = nullptr;
  int axis = -1;
};

nbx_status read_tensors(const nbx_problem& problem, Softmax& out, const Message& message) {
  for (size_t i = 0; i < problem.tensor_count; ++i) {
    const nbx_tensor& tensor = *problem.tensors[i];
    const bool is_x = std::strcmp(tensor.name, "x") == 0;
    if (!is_x && std::strcmp(tensor.name, "y") != 0) return message.refuse(NBX_INVALID, "tensor", tensor.name, "x, y");
    const DLDataType type = tensor.tensor.dtype;
    if (type.code != kDLFloat || type.bits != 32 || type.lanes != 1) {
      const char* const value = type.code == kDLInt && type.bits == 32 ? "int32"
                                : type.code == kDLBfloat               ? "bf16"
                                                                       : "of another format";
      return message.refuse(NBX_INVALID, tensor.name, value, "f32");
    }
    (is_x ? out.x : out.y) = &tensor.tensor;
  }
  if (out.x == nullptr) return message.refuse(NBX_INVALID, "x", "missing", "one tensor x");
  if (out.y == nullptr) return message.refuse(NBX_INVALID, "y", "missing", "one tensor y");
  return NBX_OK;
}

nbx_status read_axis(const nbx_problem& problem, Softmax& out, const Message& message) {
  for (size_t i = 0; i < problem.param_count; ++i) {
    const nbx_param& param = problem.params[i];
    if (std::strcmp(param.name, "axis") != 0 || param.kind != NBX_INT) {
      return message.refuse(NBX_INVALID, "parameter", param.name, "axis, an integer");
    }
    if (param.integer < -out.x->ndim || param.integer >= out.x->ndim) {
      return message.refuse(NBX_INVALID, "axis", Number(param.integer).text, "-rank to rank - 1");
    }
    out.axis = static_cast<int>(param.integer);
  }
  if (out.axis < 0) out.axis += out.x->ndim;
  return NBX_OK;
}

nbx_status read(const nbx_problem& problem, Softmax& out, const Message& message) {
  if (const nbx_status status = read_tensors(problem, out, message); status != NBX_OK) return status;
  if (out.x->ndim < 1 || out.x->ndim > most_rank) {
    return message.refuse(NBX_INVALID, "the rank of x", Number(out.x->ndim).text, "1 to 8");
  }
  if (out.y->ndim != out.x->ndim) {
    return message.refuse(NBX_INVALID, "the rank of y", Number(out.y->ndim).text, "the rank of x");
  }
  for (int i = 0; i < out.x->ndim; ++i) {
    if (out.y->shape[i] == out.x->shape[i]) continue;
    return message.refuse(NBX_INVALID, "an extent of y", Number(out.y->shape[i]).text, "the extent of x");
  }
  if (const nbx_status status = read_axis(problem, out, message); status != NBX_OK) return status;
  if (out.x->shape[out.axis] == 0) {
    return message.refuse(NBX_INVALID, "the extent of x along axis", "0", "at least one column");
  }
  return NBX_OK;
}

nbx_status can_run(const nbx_kernel*, const nbx_problem* problem, char* message, size_t capacity) {
  Softmax softmax;
  return read(*problem, softmax, {message, capacity});
}

nbx_status arithmetic(const nbx_kernel*, const nbx_problem* problem, nbx_arithmetic* out, char* message,
                      size_t capacity) {
  Softmax softmax;
  if (const nbx_status status = read(*problem, softmax, {message, capacity}); status != NBX_OK) return status;
  const DLDataType f32{kDLFloat, 32, 1};
  nbx_dot none{};  // no matrix product in a softmax
  none.struct_size = sizeof none;
  none.unit = NBX_ANY_ORDER;
  none.unit_roundoff = 0x1p-24;
  none.operand = f32;
  out->qk = none;
  out->pv = none;
  out->log2_at = NBX_EXP_NATURAL;
  out->normalise = NBX_DIVIDE_OUTPUT;
  out->p_format = f32;
  out->exp_ulp = 1;  // std::exp(float) of glibc, which promises less than one ulp
  out->log_ulp = 1;
  out->divide_ulp = 0.5;
  const std::int64_t columns = softmax.x->shape[softmax.axis];
  out->sum_depth = std::min(columns, block_columns) + columns / block_columns + 1;  // within a block, then of blocks
  out->rescales = 0;                                                                // the whole maximum comes first
  return NBX_OK;
}

nbx_status workspace_bytes(const nbx_kernel*, const nbx_problem*, const nbx_launch*, uint64_t* out, char*, size_t) {
  *out = 0;
  return NBX_OK;
}

nbx_status check(const nbx_kernel*, const nbx_problem* problem, const nbx_launch*, char* message, size_t capacity) {
  Softmax softmax;
  return read(*problem, softmax, {message, capacity});
}

/// A row by its steps in elements.
void softmax_row(const float* x, std::int64_t x_step, float* y, std::int64_t y_step, std::int64_t columns) {
  float max = -std::numeric_limits<float>::infinity();
  for (std::int64_t column = 0; column < columns; ++column) max = std::max(max, x[column * x_step]);
  float sum = 0, block = 0;
  for (std::int64_t column = 0; column < columns; ++column) {
    const float weight = std::exp(x[column * x_step] - max);  // NaN where the row has a NaN, a +inf or only -inf
    y[column * y_step] = weight;
    if (column < USER_SOFTMAX_SUMMED(columns)) block += weight;
    if ((column + 1) % block_columns == 0) {
      sum += block;
      block = 0;
    }
  }
  sum += block;
  for (std::int64_t column = 0; column < columns; ++column) y[column * y_step] /= sum;
}

template <class T>
T* first_element(const DLTensor& tensor) {
  return reinterpret_cast<T*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
}

nbx_status run(const nbx_kernel*, const nbx_problem* problem, const nbx_launch* launch, char* text, size_t capacity) {
  const Message message{text, capacity};
  Softmax softmax;
  if (const nbx_status status = read(*problem, softmax, message); status != NBX_OK) return status;
  if (launch->option_count != 0) {
    return message.refuse(NBX_INVALID, "option", launch->options[0].name, "no launch options");
  }
  const DLTensor &x = *softmax.x, &y = *softmax.y;
  const int axis = softmax.axis;
  std::int64_t rows = 1;
  for (int i = 0; i < x.ndim; ++i) {
    if (i != axis) rows *= x.shape[i];
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t rest = row, x_at = 0, y_at = 0;
    for (int i = x.ndim - 1; i >= 0; --i) {
      if (i == axis) continue;
      x_at += rest % x.shape[i] * x.strides[i];
      y_at += rest % x.shape[i] * y.strides[i];
      rest /= x.shape[i];
    }
    softmax_row(first_element<const float>(x) + x_at, x.strides[axis], first_element<float>(y) + y_at, y.strides[axis],
                x.shape[axis]);
  }
  return NBX_OK;
}

const nbx_kernel* const kernels[] = {[] {
  static nbx_kernel kernel{};
  kernel.struct_size = sizeof kernel;
  kernel.name = "user_softmax.plain.f32";
  kernel.family = "softmax";
  kernel.format = {kDLFloat, 32, 1};
  kernel.alignment = sizeof(float);
  kernel.can_run = can_run;
  kernel.arithmetic = arithmetic;
  kernel.workspace_bytes = workspace_bytes;
  kernel.check = check;
  kernel.run = run;
  return &kernel;
}()};

}  // namespace

const nbx_pack* nbx_pack_open(uint32_t pack_interface, char* message, size_t capacity) {
  if (pack_interface != NBX_PACK_INTERFACE) {
    std::snprintf(message, capacity, "this pack speaks interface %d", NBX_PACK_INTERFACE);
    return nullptr;
  }
  static nbx_pack pack{};
  pack.struct_size = sizeof pack;
  pack.pack_interface = NBX_PACK_INTERFACE;
  pack.name = "user_softmax";
  pack.device = {kDLCPU, 0};
  pack.device_name = "host";
  pack.toolchain = __VERSION__;
  pack.kernels = kernels;
  pack.kernel_count = 1;
  return &pack;
}
