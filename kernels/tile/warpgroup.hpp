// CUDA alone, and code for sm_90a: what a kernel of warpgroups is written with. Boxes of a tensor that the copy engine
// brings to shared memory, barriers that count its bytes, and products that run on their own (PTX ISA 9.0,
// "Asynchronous warpgroup level matrix instructions", "mbarrier", "cp.async.bulk.tensor").
#pragma once

#if defined(__CUDACC__)

#include <cuda.h>

#include "kernels/tile/number.hpp"

namespace nbx::tile {

/// A barrier in shared memory, by its address there.
struct Barrier {
  unsigned at;

  NBX_DEVICE void begin(unsigned arrivals) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
  }
  NBX_DEVICE void arrive() const { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }
  /// Arrives, and lets the phase wait for that many bytes of copies too.
  NBX_DEVICE void arrive_for(unsigned bytes) const {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
  }
  /// Until the phase of this parity has ended.
  NBX_DEVICE void wait(unsigned parity) const {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1, %2;\n"
        "@done bra ended;\n"
        "bra again;\n"
        "ended:\n"
        "}" ::"r"(at),
        "r"(parity), "n"(10'000'000)  // nanoseconds to sleep at most
        : "memory");
  }
};

/// Barriers begun by this thread are there for the copy engine, too.
NBX_DEVICE inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
}

/// The box of a map at (column, row, head, batch), to shared memory; its bytes count for `barrier`.
NBX_DEVICE inline void copy_box(unsigned to, const CUtensorMap& map, int column, int row, int head, int batch,
                                Barrier barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(to),
      "l"(&map), "r"(barrier.at), "r"(column), "r"(row), "r"(head), "r"(batch)
      : "memory");
}

/// Registers of each thread of a warpgroup from here on.
template <int registers>
NBX_DEVICE void keep_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
NBX_DEVICE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

/// Whether any thread of a warpgroup says so. `which` is a barrier of its own, not 0.
NBX_DEVICE inline bool any_of_warpgroup(unsigned which, bool said) {
  unsigned out;
  asm volatile(
      "{\n"
      ".reg .pred mine, any;\n"
      "setp.ne.u32 mine, %2, 0;\n"
      "barrier.cta.red.or.pred any, %1, 128, mine;\n"
      "selp.u32 %0, 1, 0, any;\n"
      "}"
      : "=r"(out)
      : "r"(which), "r"(said ? 1U : 0U)
      : "memory");
  return out != 0;
}

/// Registers written before are there for the products that follow.
NBX_DEVICE inline void open_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
NBX_DEVICE inline void close_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits for products, but for the `left` groups closed last.
template <int left>
NBX_DEVICE void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}
/// What is computed from these registers is computed behind this place.
template <int N>
NBX_DEVICE void hold(float (&of)[N][4]) {
  NBX_UNROLL
  for (int i = 0; i < N; ++i)
    asm volatile("" : "+f"(of[i][0]), "+f"(of[i][1]), "+f"(of[i][2]), "+f"(of[i][3])::"memory");
}

/// Names the operand B in shared memory, in boxes of 64 columns with the swizzle of 128 bytes, 8 rows in 1,024 bytes.
/// `next` is the distance of the following 64 columns where those are the columns of the product.
NBX_DEVICE inline std::uint64_t operand_at(unsigned at, unsigned next) {
  return static_cast<std::uint64_t>((at & 0x3FFFFU) >> 4) | static_cast<std::uint64_t>(next >> 4) << 16 |
         std::uint64_t{1024 >> 4} << 32 | std::uint64_t{1} << 62;
}

#define NBX_FOUR(d, i) "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
#define NBX_THIRTY_TWO(d, i)                                                                                          \
  NBX_FOUR(d, i), NBX_FOUR(d, i + 1), NBX_FOUR(d, i + 2), NBX_FOUR(d, i + 3), NBX_FOUR(d, i + 4), NBX_FOUR(d, i + 5), \
      NBX_FOUR(d, i + 6), NBX_FOUR(d, i + 7)
#define NBX_NAMES_32                                                                                               \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, "                                                                                                          \
  "%25, %26, %27, %28, %29, %30, %31"
#define NBX_NAMES_64                                                                                                 \
  NBX_NAMES_32                                                                                                       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, " \
  "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NBX_PRODUCT_64(format, transposed)                                              \
  asm volatile(                                                                         \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %37, 0;\n"                                  \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." format "." format " {" NBX_NAMES_32 \
      "}, {%32, %33, %34, %35}, %36, add, 1, 1, " transposed ";\n}"                     \
      : NBX_THIRTY_TWO(d, 0)                                                            \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add ? 1 : 0))
#define NBX_PRODUCT_128(format, transposed)                                              \
  asm volatile(                                                                          \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %69, 0;\n"                                   \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." format "." format " {" NBX_NAMES_64 \
      "}, {%64, %65, %66, %67}, %68, add, 1, 1, " transposed ";\n}"                      \
      : NBX_THIRTY_TWO(d, 0), NBX_THIRTY_TWO(d, 8)                                       \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add ? 1 : 0))

/// d ← a · b, added to d if `add`: 64 rows of a warpgroup, 16 deep, 8 · N columns. A in the fragments of m16n8k16, a
/// warp's 16 rows each; B by operand_at, `Across` where its rows are those of the depth.
template <class Format, bool Across, int N>
NBX_DEVICE void warpgroup_product(float (&d)[N][4], const std::uint32_t (&a)[4], std::uint64_t b, bool add) {
  static_assert(N == 8 || N == 16);
  constexpr bool brain = std::is_same_v<Format, bf16>;
  if constexpr (N == 8) {
    if constexpr (brain && Across) NBX_PRODUCT_64("bf16", "1");
    if constexpr (brain && !Across) NBX_PRODUCT_64("bf16", "0");
    if constexpr (!brain && Across) NBX_PRODUCT_64("f16", "1");
    if constexpr (!brain && !Across) NBX_PRODUCT_64("f16", "0");
  } else {
    static_assert(Across);
    if constexpr (brain) NBX_PRODUCT_128("bf16", "1");
    if constexpr (!brain) NBX_PRODUCT_128("f16", "1");
  }
}

#undef NBX_FOUR
#undef NBX_THIRTY_TWO
#undef NBX_NAMES_32
#undef NBX_NAMES_64
#undef NBX_PRODUCT_64
#undef NBX_PRODUCT_128

}  // namespace nbx::tile

#endif
