#include "contracts/dense.hpp"

#include <cstring>

namespace nbx::contracts {

std::int64_t count(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

Shape coordinates(const Shape& shape, std::int64_t index) {
  Shape at(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    at[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return at;
}

Box whole(const Shape& shape) {
  Box box;
  for (const std::int64_t extent : shape) box.emplace_back(0, extent);
  return box;
}

Shape box_shape(const Box& box) {
  Shape shape;
  for (const auto& [begin, end] : box) shape.push_back(end - begin);
  return shape;
}

std::vector<std::int64_t> box_indices(const Shape& shape, const Box& box) {
  const Shape extent = box_shape(box), strides = dense_strides(shape);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count(extent)));
  if (indices.empty()) return indices;
  Shape at(shape.size());
  std::int64_t index = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) index += box[axis].first * strides[axis];
  for (std::int64_t& place : indices) {
    place = index;
    for (std::size_t axis = shape.size(); axis-- > 0;) {  // the last axis counts fastest and carries
      index += strides[axis];
      if (++at[axis] < extent[axis]) break;
      index -= extent[axis] * strides[axis];
      at[axis] = 0;
    }
  }
  return indices;
}

SharedBytes take(const Bytes& bytes, std::size_t width, std::span<const std::int64_t> indices, std::uint32_t filler) {
  auto out = std::make_shared<Bytes>(indices.size() * width);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0)
      std::memcpy(out->data() + i * width, &filler, width);
    else
      std::memcpy(out->data() + i * width, bytes.data() + static_cast<std::size_t>(indices[i]) * width, width);
  }
  return out;
}

CallTensor input_tensor(std::string name, DLDataType type, Shape shape, SharedBytes data) {
  return {.name = std::move(name),
          .role = NBX_IN,
          .dtype = type,
          .shape = std::move(shape),
          .strides = {},
          .offset = 0,
          .data = std::move(data)};
}

CallTensor output_tensor(std::string name, DLDataType type, Shape shape) {
  return {.name = std::move(name),
          .role = NBX_OUT,
          .dtype = type,
          .shape = std::move(shape),
          .strides = {},
          .offset = 0,
          .data = nullptr};
}

CallTensor sliced(const CallTensor& tensor, const Box& box) {
  CallTensor out = tensor;
  out.shape = box_shape(box);
  if (tensor.data) out.data = take(*tensor.data, tensor.dtype.bits / 8, box_indices(tensor.shape, box));
  return out;
}

const CallTensor* find_tensor(const Call& call, std::string_view name) {
  for (const CallTensor& tensor : call.tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

CallTensor* find_tensor(Call& call, std::string_view name) {
  return const_cast<CallTensor*>(find_tensor(static_cast<const Call&>(call), name));
}

void lay_out(CallTensor& tensor, const std::vector<int>& order, std::int64_t gap, std::int64_t offset,
             std::int64_t odd) {
  tensor.strides.assign(tensor.shape.size(), 0);
  tensor.offset = offset;
  std::int64_t stride = 1;
  for (std::size_t place = order.size(); place-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[place]);
    tensor.strides[axis] = tensor.shape[axis] == 1 ? odd : stride;
    stride *= tensor.shape[axis];
    if (place + 1 == order.size()) stride += gap;
  }
}

}  // namespace nbx::contracts
