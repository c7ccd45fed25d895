// CUDA alone: what a kernel that keeps its tiles in registers is written with. Copies from global to shared memory that
// run on their own, and matrices of 16-bit elements from shared memory in the fragments of mma.sync (PTX ISA 9.0,
// "Matrix Fragments for mma").
#pragma once

#if defined(__CUDACC__)

#include "kernels/tile/number.hpp"

namespace nbx::tile {

/// Rows of `Columns` 16-bit elements in shared memory, in pieces of 16 bytes. A row's pieces are permuted so that eight
/// rows at one column lie in different banks.
template <int Columns>
struct SharedRows {
  static constexpr int pieces = Columns / 8;
  static constexpr unsigned row_bytes = Columns * 2;
  unsigned at;  // address in shared memory

  NBX_DEVICE unsigned piece(unsigned row, unsigned which) const {
    return at + row * row_bytes + (which ^ (row % 8)) * 16;
  }
  /// From an even piece of a row, or the one behind it, to that of an even number of pieces on.
  NBX_DEVICE static unsigned further(unsigned address, unsigned by) { return address ^ (by * 16); }
};

/// 16 bytes to shared memory; zeros in their place, and nothing read, unless `present`.
NBX_DEVICE inline void copy_piece(unsigned to, const void* from, bool present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(present ? 16 : 0) : "memory");
}
NBX_DEVICE inline void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for this thread's copies, but for the `left` groups closed last.
template <int left>
NBX_DEVICE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

/// threadIdx.x, read where it is asked for: what follows from it takes no register in between.
NBX_DEVICE inline unsigned thread() {
  unsigned out;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(out));
  return out;
}

/// Four 8 × 8 matrices; lane i names row i % 8 of matrix i / 8.
NBX_DEVICE inline void load_fragments(std::uint32_t (&to)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}
/// The same, each matrix transposed.
NBX_DEVICE inline void load_fragments_transposed(std::uint32_t (&to)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

/// Two numbers in `Format`, to nearest, the first in the low half. Finite ones saturate if `saturate`.
template <class Format>
NBX_DEVICE std::uint32_t narrowed_pair(float low, float high);
template <>
NBX_DEVICE inline std::uint32_t narrowed_pair<bf16>(float low, float high) {
  std::uint32_t out;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}
template <>
NBX_DEVICE inline std::uint32_t narrowed_pair<f16>(float low, float high) {
  std::uint32_t out;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}

/// max_nan but for which NaN and which zero.
NBX_DEVICE inline float larger_or_nan(float a, float b) {
  float out;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(out) : "f"(a), "f"(b));
  return out;
}

/// The reduction over the four lanes of a row of a fragment: (0 ∘ 1) ∘ (2 ∘ 3), commutative.
template <class Combine>
NBX_DEVICE float over_quad(float x, const Combine& combine) {
  x = combine(x, __shfl_xor_sync(0xFFFFFFFFU, x, 1));
  return combine(x, __shfl_xor_sync(0xFFFFFFFFU, x, 2));
}

}  // namespace nbx::tile

#endif
