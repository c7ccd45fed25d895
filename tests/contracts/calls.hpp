// Calls of the test packs' "copy" kernels.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "contracts/child/executor.hpp"

namespace nbx::contracts {

constexpr DLDataType f32{kDLFloat, 32, 1};

inline std::filesystem::path test_pack(const std::string& name) {
  return std::filesystem::path(NBX_TEST_PACKS) / (name + ".so");
}

inline Executor::Options test_options(int timeout_ms = 20'000) {
  return {std::chrono::milliseconds(timeout_ms), NBX_TEST_WORKER};
}

inline Bytes counted(std::int64_t bytes) {
  Bytes data(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 37 + i / 256 + 1);
  return data;
}

struct Strided {
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
};

/// x, of `data`, is copied to y. Both have the same shape.
inline Call copy_call(const std::string& kernel, std::vector<std::int64_t> shape, DLDataType dtype, Bytes data,
                      Strided x = {}, Strided y = {}) {
  Call call;
  call.kernel = kernel;
  call.family = "copy";
  call.tensors = {{"x", NBX_IN, dtype, shape, x.strides, x.offset, std::make_shared<const Bytes>(std::move(data))},
                  {"y", NBX_OUT, dtype, shape, y.strides, y.offset, nullptr}};
  return call;
}

/// 3 rows of 5 floats.
inline Call small_call(const std::string& kernel, Strided x = {}, Strided y = {}) {
  return copy_call(kernel, {3, 5}, f32, counted(60), std::move(x), std::move(y));
}

}  // namespace nbx::contracts
