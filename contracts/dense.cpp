#include "contracts/dense.hpp"

#include <cstring>
#include <type_traits>

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
  const auto copy = [&](auto known) {  // a width that the compiler knows
    constexpr std::size_t each = decltype(known)::value;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::byte* const from = bytes.data() + static_cast<std::size_t>(indices[i]) * each;
      std::memcpy(out->data() + i * each, indices[i] < 0 ? reinterpret_cast<const std::byte*>(&filler) : from, each);
    }
  };
  if (width == 1) copy(std::integral_constant<std::size_t, 1>{});
  if (width == 2) copy(std::integral_constant<std::size_t, 2>{});
  if (width == 4) copy(std::integral_constant<std::size_t, 4>{});
  return out;
}

namespace {

/// `times` copies of each run of `run` bytes, and `behind` after each.
SharedBytes copied_runs(const Bytes& bytes, std::size_t run, std::int64_t times, const Bytes& behind) {
  auto out = std::make_shared<Bytes>();
  for (std::size_t at = 0; at < bytes.size(); at += run) {
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    for (std::int64_t i = 0; i < times; ++i) out->insert(out->end(), from, from + static_cast<std::ptrdiff_t>(run));
    out->insert(out->end(), behind.begin(), behind.end());
  }
  return out;
}

std::int64_t inner_count(const CallTensor& tensor, std::size_t axis) {
  return count(Shape(tensor.shape.begin() + static_cast<std::ptrdiff_t>(axis), tensor.shape.end()));
}

}  // namespace

void lengthen(CallTensor& tensor, std::size_t axis, std::int64_t more, std::uint32_t filler) {
  const std::size_t width = tensor.dtype.bits / 8;
  Bytes behind(static_cast<std::size_t>(more * inner_count(tensor, axis + 1)) * width);
  for (std::size_t at = 0; at < behind.size(); at += width) std::memcpy(behind.data() + at, &filler, width);
  tensor.data = copied_runs(*tensor.data, static_cast<std::size_t>(inner_count(tensor, axis)) * width, 1, behind);
  tensor.shape[axis] += more;
}

void repeat(CallTensor& tensor, std::size_t axis, std::int64_t times) {
  const auto run = static_cast<std::size_t>(inner_count(tensor, axis + 1)) * (tensor.dtype.bits / 8);
  tensor.data = copied_runs(*tensor.data, run, times, {});
  tensor.shape[axis] *= times;
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
  if (tensor.data && out.shape != tensor.shape)
    out.data = take(*tensor.data, tensor.dtype.bits / 8, box_indices(tensor.shape, box));
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
