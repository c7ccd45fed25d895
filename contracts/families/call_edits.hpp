// Edits of a call that refusals of several families are made of. Each returns a function that changes a call.
#pragma once

#include <optional>

#include "contracts/dense.hpp"
#include "contracts/families/family.hpp"

namespace nbx::contracts::edit {

/// A tensor of zeros.
inline CallTensor zeros(const char* name, DLDataType type, Shape shape) {
  auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(count(shape)) * (type.bits / 8));
  return input_tensor(name, type, std::move(shape), bytes);
}

/// Another shape, and format where one is given; the role stays.
inline auto replace(const char* name, Shape shape, std::optional<DLDataType> type = {}) {
  return [name, shape = std::move(shape), type](Call& call) {
    CallTensor& tensor = *find_tensor(call, name);
    const nbx_role role = tensor.role;
    tensor = zeros(name, type.value_or(tensor.dtype), shape);
    tensor.role = role;
    if (role == NBX_OUT || role == NBX_PARTIAL) tensor.data = nullptr;
  };
}

inline auto add(CallTensor tensor) {
  return [tensor = std::move(tensor)](Call& call) { call.tensors.push_back(tensor); };
}

inline auto remove(const char* name) {
  return [name](Call& call) {
    std::erase_if(call.tensors, [&](const CallTensor& tensor) { return tensor.name == name; });
  };
}

inline auto set(Param param) {
  return [param = std::move(param)](Call& call) {
    std::erase_if(call.params, [&](const Param& other) { return other.name == param.name; });
    call.params.push_back(param);
  };
}

/// Other data of the same shape.
inline auto fill(const char* name, SharedBytes data) {
  return [name, data = std::move(data)](Call& call) { find_tensor(call, name)->data = data; };
}

}  // namespace nbx::contracts::edit
