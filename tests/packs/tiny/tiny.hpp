// A pack of many small units for the tests of the bisect: each unit is a softmax kernel that compiles in no time.
// TINY_KERNEL(07, row) makes a file the unit of kernel tiny.u07.f32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/pack/nbx_pack.h"

/// What a unit does with one row of `columns` features.
using TinyRow = void(const float* x, float* y, std::int64_t columns);

// In tiny.cpp: a kernel around a row.
nbx_status tiny_can_run(const nbx_kernel*, const nbx_problem*, char*, std::size_t);
nbx_status tiny_arithmetic(const nbx_kernel*, const nbx_problem*, nbx_arithmetic*, char*, std::size_t);
nbx_status tiny_workspace(const nbx_kernel*, const nbx_problem*, const nbx_launch*, std::uint64_t*, char*, std::size_t);
nbx_status tiny_check(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t);
nbx_status tiny_run(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t);

#define TINY_KERNEL(number, row)                                                                  \
  void tiny_row_##number(const float* x, float* y, std::int64_t columns) { row(x, y, columns); }  \
  extern const nbx_kernel tiny_##number;                                                          \
  const nbx_kernel tiny_##number = {.struct_size = sizeof(nbx_kernel),                            \
                                    .name = "tiny.u" #number ".f32",                              \
                                    .family = "softmax",                                          \
                                    .format = {kDLFloat, 32, 1},                                  \
                                    .optional_outputs = nullptr,                                  \
                                    .optional_output_count = 0,                                   \
                                    .alignment = 4,                                               \
                                    .axes = nullptr,                                              \
                                    .axis_count = 0,                                              \
                                    .equalities = nullptr,                                        \
                                    .equality_count = 0,                                          \
                                    .can_run = tiny_can_run,                                      \
                                    .arithmetic = tiny_arithmetic,                                \
                                    .workspace_bytes = tiny_workspace,                            \
                                    .check = tiny_check,                                          \
                                    .run = tiny_run,                                              \
                                    .context = reinterpret_cast<const void*>(&tiny_row_##number), \
                                    .control = nullptr,                                           \
                                    .limits = nullptr,                                            \
                                    .symbol = nullptr,                                            \
                                    .unit = "u" #number ".cpp"};
