#include "controls/call.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/pack/problem.hpp"
#include "kernels/tile/number.hpp"

namespace nbx::controls {
namespace {

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void write(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

bool named(const nbx_param& param, std::string_view name) { return param.name == name; }

}  // namespace

std::int64_t Tensor::elements() const { return pack::elements(shape, rank()); }

std::byte* Tensor::at(std::int64_t element) const {
  std::int64_t offset = 0;
  for (int axis = rank() - 1; axis > 0; --axis) {
    offset += element % shape[axis] * stride[axis];
    element /= shape[axis];
  }
  if (rank() > 0) offset += element * stride[0];
  return static_cast<std::byte*>(view.tensor.data) + view.tensor.byte_offset +
         offset * static_cast<std::int64_t>(element_bytes());
}

float Tensor::value(std::int64_t element) const {
  const DLDataType type = view.tensor.dtype;
  if (pack::same(type, pack::f32_type)) return read<float>(at(element));
  if (pack::same(type, pack::f16_type)) return tile::decode(read<tile::f16>(at(element)));
  if (pack::same(type, pack::bf16_type)) return tile::decode(read<tile::bf16>(at(element)));
  throw std::invalid_argument("an element of format " + pack::text(type));
}

void Tensor::set_value(std::int64_t element, float value) const {
  const DLDataType type = view.tensor.dtype;
  if (pack::same(type, pack::f32_type)) return write(at(element), value);
  if (pack::same(type, pack::f16_type)) return write(at(element), tile::encode<tile::f16>(value));
  if (pack::same(type, pack::bf16_type)) return write(at(element), tile::encode<tile::bf16>(value));
  throw std::invalid_argument("an element of format " + pack::text(type));
}

void Tensor::shift(int axis, std::int64_t elements) {
  view.tensor.byte_offset += static_cast<std::uint64_t>(elements * stride[axis]) * element_bytes();
}

void Tensor::reverse(int axis) {
  if (shape[axis] < 2) return;
  shift(axis, shape[axis] - 1);
  stride[axis] = -stride[axis];
}

void Tensor::move_to(std::byte* data) {
  view.tensor.data = data;
  view.tensor.byte_offset = 0;
  std::int64_t step = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    stride[axis] = step;
    step *= shape[axis];
  }
}

Call::Call(const nbx_problem& problem, const nbx_launch* how, bool has_data)
    : problem_(problem), has_launch_(how != nullptr), has_data_(has_data) {
  for (std::size_t i = 0; i < problem.tensor_count; ++i) {
    const nbx_tensor& given = *problem.tensors[i];
    if (given.tensor.ndim > Tensor::max_rank) throw std::invalid_argument(std::string("the rank of ") + given.name);
    Tensor& own = tensors_.emplace_back();
    own.view = given;
    std::copy_n(given.tensor.shape, given.tensor.ndim, own.shape);
    std::copy_n(given.tensor.strides, given.tensor.ndim, own.stride);
  }
  if (problem.param_count > 0) params_.assign(problem.params, problem.params + problem.param_count);
  if (how == nullptr) return;
  launch = *how;
  if (how->option_count > 0) options_.assign(how->options, how->options + how->option_count);
}

Tensor* Call::find(std::string_view name) {
  for (Tensor& tensor : tensors_) {
    if (tensor.view.name == name) return &tensor;
  }
  return nullptr;
}

Tensor& Call::tensor(std::string_view name) {
  Tensor* const found = find(name);
  if (found == nullptr) throw std::invalid_argument("no tensor " + std::string(name));
  return *found;
}

void Call::remove_tensor(std::string_view name) {
  tensors_.erase(
      std::remove_if(tensors_.begin(), tensors_.end(), [&](const Tensor& tensor) { return tensor.view.name == name; }),
      tensors_.end());
}

void Call::add_tensor(const char* name, const Tensor& from) {
  const Tensor copy = from;
  tensors_.push_back(copy);
  tensors_.back().view.name = name;
}

const nbx_param* Call::param(std::string_view name) const {
  const auto found =
      std::find_if(params_.begin(), params_.end(), [&](const nbx_param& param) { return named(param, name); });
  return found == params_.end() ? nullptr : &*found;
}

void Call::set_param(const nbx_param& param) {
  remove_param(param.name);
  params_.push_back(param);
}

void Call::remove_param(std::string_view name) {
  params_.erase(
      std::remove_if(params_.begin(), params_.end(), [&](const nbx_param& param) { return named(param, name); }),
      params_.end());
}

std::int64_t Call::option(std::string_view name, std::int64_t otherwise) const {
  const auto found =
      std::find_if(options_.begin(), options_.end(), [&](const nbx_param& option) { return named(option, name); });
  return found == options_.end() ? otherwise : found->integer;
}

void Call::remove_option(std::string_view name) {
  options_.erase(
      std::remove_if(options_.begin(), options_.end(), [&](const nbx_param& option) { return named(option, name); }),
      options_.end());
}

std::byte* Call::memory(std::size_t bytes) { return memory_.emplace_back(bytes).data(); }

const nbx_problem& Call::problem() {
  pointers_.clear();
  for (Tensor& tensor : tensors_) {
    tensor.view.tensor.shape = tensor.shape;
    tensor.view.tensor.strides = tensor.stride;
    pointers_.push_back(&tensor.view);
  }
  problem_.tensors = pointers_.data();
  problem_.tensor_count = pointers_.size();
  problem_.params = params_.data();
  problem_.param_count = params_.size();
  return problem_;
}

const nbx_launch* Call::how() {
  if (!has_launch_) return nullptr;
  launch.options = options_.data();
  launch.option_count = options_.size();
  return &launch;
}

}  // namespace nbx::controls
