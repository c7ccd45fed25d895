// Narrowing of an operand into dense memory: each element to the nearest of the other format.
#pragma once

#include "kernels/tile/block.hpp"
#include "kernels/tile/number.hpp"

namespace nbx::sdpa {

template <class From, class To>
struct NarrowProgram {
  const From* from;
  To* to;
  std::int64_t shape[4], stride[4];  // (batch, heads, positions, dims); strides of `from`

  std::int64_t blocks() const { return shape[0] * shape[1] * shape[2]; }
  std::size_t tile_bytes() const { return 0; }

  /// A block is one position.
  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t position = block.index() % shape[2];
    const std::int64_t head = block.index() / shape[2] % shape[1];
    const std::int64_t b = block.index() / shape[2] / shape[1];
    const From* const row = from + b * stride[0] + head * stride[1] + position * stride[2];
    To* const out = to + block.index() * shape[3];
    const std::int64_t step = stride[3];
    block.phase(shape[3], [=](std::int64_t c) { out[c] = tile::encode<To>(tile::decode(row[c * step])); });
  }
};

}  // namespace nbx::sdpa
