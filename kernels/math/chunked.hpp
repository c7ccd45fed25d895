// chunked: math over chunks of query rows, so that no more scores than one chunk's are held.
#pragma once

#include <array>

#include "kernels/math/kernel.hpp"

namespace nbx::math {

inline constexpr std::int64_t default_chunk_rows = 128;

/// chunked.simt in format T; `Math` is the kernel whose bits it has for every height of a chunk.
template <class T, const char* Math, class R = Rules, template <class, class> class S = Stages>
struct ChunkedKernel : Common<ChunkedKernel<T, Math, R, S>, T, R, S> {
  static pack::Options options(const nbx_launch* how) { return {how, {"block_rows", "chunk_rows"}}; }
  static std::int64_t height(const nbx_launch* how, std::int64_t Tq) {
    const std::int64_t rows = options(how).integer("chunk_rows", default_chunk_rows, 1, std::int64_t{1} << 40);
    return Tq < rows ? Tq : rows;
  }

  static constexpr std::array<const char*, 1> optional_outputs{"lse"};
  static constexpr std::array<std::int64_t, 2> block_row_values{8, 32};
  static constexpr std::array<std::int64_t, 4> chunk_row_values{1, 16, 33, 128};
  static constexpr pack::List<nbx_axis, 2> axes{pack::axis("block_rows", "gate3.grid", block_row_values),
                                                pack::axis("chunk_rows", "gate3.chunk", chunk_row_values)};
  static constexpr pack::List<nbx_equality, 8> equalities{
      pack::promised("gate3.grid"),  pack::promised("gate3.rows"),      pack::promised("gate3.batch"),
      pack::promised("gate3.chunk"), pack::promised("gate3.view"),      pack::promised("gate3.pad"),
      pack::promised("gate3.twin"),  pack::promised("gate3.pair", Math)};
};

}  // namespace nbx::math
