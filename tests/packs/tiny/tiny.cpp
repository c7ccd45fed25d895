// The pack around the units, and what their kernels share. The test writes units.h, the list of units.
#include "tests/packs/tiny/tiny.hpp"

#include <cstdio>
#include <cstring>

static const DLTensor* tensor(const nbx_problem* problem, const char* name) {
  for (std::size_t i = 0; i < problem->tensor_count; ++i) {
    if (std::strcmp(problem->tensors[i]->name, name) == 0) return &problem->tensors[i]->tensor;
  }
  return nullptr;
}

static const char* obstacle(const nbx_problem* problem) {
  const DLTensor *x = tensor(problem, "x"), *y = tensor(problem, "y");
  if (x == nullptr || y == nullptr) return "a tensor is missing; accepted: x, y";
  if (x->ndim != 2 || x->shape[1] < 1 || x->shape[1] > 150) return "x is not [rows, 1 to 150 columns]";
  if (x->strides[1] != 1 || y->strides[1] != 1) return "columns are not dense";
  for (std::size_t i = 0; i < problem->param_count; ++i) {
    const std::int64_t axis = problem->params[i].integer;
    if (std::strcmp(problem->params[i].name, "axis") != 0 || (axis != -1 && axis != 1)) return "axis is not -1 or 1";
  }
  return nullptr;
}

nbx_status tiny_can_run(const nbx_kernel*, const nbx_problem* problem, char* message, std::size_t capacity) {
  const char* const why = obstacle(problem);
  if (why == nullptr) return NBX_OK;
  std::snprintf(message, capacity, "%s", why);
  return NBX_UNSUPPORTED;
}

nbx_status tiny_arithmetic(const nbx_kernel* self, const nbx_problem* problem, nbx_arithmetic* out, char* message,
                           std::size_t capacity) {
  const nbx_status status = tiny_can_run(self, problem, message, capacity);
  if (status != NBX_OK) return status;
  out->qk.struct_size = sizeof out->qk;
  out->qk.unit = NBX_ANY_ORDER;
  out->qk.unit_roundoff = 0x1p-24;
  out->qk.operand = {kDLFloat, 32, 1};
  out->pv = out->qk;
  out->log2_at = NBX_EXP_NATURAL;
  out->normalise = NBX_DIVIDE_OUTPUT;
  out->p_format = {kDLFloat, 32, 1};
  out->exp_ulp = 4;
  out->log_ulp = 1;
  out->divide_ulp = 2;  // so that a multiplication by the reciprocal is within the bound
  out->sum_depth = tensor(problem, "x")->shape[1];
  return NBX_OK;
}

nbx_status tiny_workspace(const nbx_kernel*, const nbx_problem*, const nbx_launch*, std::uint64_t* out, char*,
                          std::size_t) {
  *out = 0;
  return NBX_OK;
}

nbx_status tiny_check(const nbx_kernel* self, const nbx_problem* problem, const nbx_launch*, char* message,
                      std::size_t capacity) {
  return tiny_can_run(self, problem, message, capacity);
}

nbx_status tiny_run(const nbx_kernel* self, const nbx_problem* problem, const nbx_launch*, char* message,
                    std::size_t capacity) {
  if (const nbx_status status = tiny_can_run(self, problem, message, capacity); status != NBX_OK) return status;
  const DLTensor *x = tensor(problem, "x"), *y = tensor(problem, "y");
  TinyRow* const row_of = reinterpret_cast<TinyRow*>(const_cast<void*>(self->context));
  for (std::int64_t row = 0; row < x->shape[0]; ++row) {
    row_of(reinterpret_cast<const float*>(static_cast<char*>(x->data) + x->byte_offset) + row * x->strides[0],
           reinterpret_cast<float*>(static_cast<char*>(y->data) + y->byte_offset) + row * y->strides[0], x->shape[1]);
  }
  return NBX_OK;
}

#define TINY(number) extern const nbx_kernel tiny_##number;
#include "units.h"
#undef TINY
#define TINY(number) &tiny_##number,
static const nbx_kernel* const kernels[] = {
#include "units.h"
};
#undef TINY

const nbx_pack* nbx_pack_open(std::uint32_t pack_interface, char* message, std::size_t capacity) {
  static nbx_pack pack;
  if (pack_interface != NBX_PACK_INTERFACE) {
    std::snprintf(message, capacity, "this pack speaks interface %d", NBX_PACK_INTERFACE);
    return nullptr;
  }
  pack.struct_size = sizeof pack;
  pack.pack_interface = NBX_PACK_INTERFACE;
  pack.name = "tiny";
  pack.device.device_type = kDLCPU;
  pack.device_name = "host";
  pack.toolchain = __VERSION__;
  pack.flags = "";
  pack.kernels = kernels;
  pack.kernel_count = sizeof kernels / sizeof *kernels;
  return &pack;
}
