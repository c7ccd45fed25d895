// Dense row-major tensors: index arithmetic, slices, and layouts of the same elements in other storage.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "contracts/call.hpp"

namespace nbx::contracts {

using Shape = std::vector<std::int64_t>;
/// Half-open ranges, one per axis.
using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;

std::int64_t count(const Shape& shape);
Shape dense_strides(const Shape& shape);
/// Coordinates of a flat row-major index.
Shape coordinates(const Shape& shape, std::int64_t index);
Box whole(const Shape& shape);
Shape box_shape(const Box& box);
/// The flat indices of a box, in its own row-major order.
std::vector<std::int64_t> box_indices(const Shape& shape, const Box& box);
/// Elements of `bytes` at `indices`; -1 takes the pattern of `filler`.
SharedBytes take(const Bytes& bytes, std::size_t width, std::span<const std::int64_t> indices,
                 std::uint32_t filler = 0);
/// `more` places behind the last along `axis`, all of the pattern `filler`. The tensor holds data and is not empty.
void lengthen(CallTensor& tensor, std::size_t axis, std::int64_t more, std::uint32_t filler);
/// Each place along `axis` `times` times, one after the other.
void repeat(CallTensor& tensor, std::size_t axis, std::int64_t times);

CallTensor input_tensor(std::string name, DLDataType type, Shape shape, SharedBytes data);
CallTensor output_tensor(std::string name, DLDataType type, Shape shape);
/// The same tensor with `box` of its elements alone.
CallTensor sliced(const CallTensor& tensor, const Box& box);

const CallTensor* find_tensor(const Call& call, std::string_view name);
CallTensor* find_tensor(Call& call, std::string_view name);

/// Storage whose axes lie in the order `order` (outermost first), each row of the innermost axis `gap` elements longer
/// than it needs, `offset` elements in. Size-1 axes get the stride `odd`, which nobody may use.
void lay_out(CallTensor& tensor, const std::vector<int>& order, std::int64_t gap, std::int64_t offset,
             std::int64_t odd);

}  // namespace nbx::contracts
