// What a kernel is written against.
//
// A kernel is a program: a struct of plain arguments with
//
//   std::size_t tile_bytes() const;                                    // the sum of tile_bytes<T>() of its tiles
//   template <class Block> NBX_DEVICE void operator()(Block&) const;   // one block of the grid
//
// and `launch(program, blocks, how)` runs a grid of any size. A Block gives
//
//   index()                                   which block of the grid this is
//   tile<T>(rows, columns)                    memory of the block's own, content undefined
//   phase(n, item)                            item(i) for i in 0 … n − 1, in any order, then a barrier
//   phase_rows(rows, columns, prepare, item)  item(prepare(r), r, c) for each (r, c), then a barrier; prepare(r) is
//                                             free of effects and may run once per row or once per item
//   any(rows, columns, prepare, predicate)    whether predicate(prepare(r), r, c) holds for some (r, c) of a tile
//
// Items of a phase are independent: none may read what another of the same phase writes. Blocks of a grid likewise.
// The operations over tiles (load.hpp, reduce.hpp, dot.hpp) are made of phases, and each states its order of
// floating-point operations, which both back ends keep.
#pragma once

#if defined(__CUDACC__)
#include "kernels/tile/cuda_block.hpp"
#else
#include "kernels/tile/cpu_block.hpp"
#endif

namespace nbx::tile {

#if defined(__CUDACC__)
inline constexpr DLDeviceType device = kDLCUDA;
#else
inline constexpr DLDeviceType device = kDLCPU;
#endif

}  // namespace nbx::tile
