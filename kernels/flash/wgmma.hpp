// flash.wgmma: the arithmetic of flash.mma on operands of 16 bits. On a device of sm_90 calls that flash.mma takes to
// registers go to warpgroups (warpgroup_form.hpp), where the copy engine can read K and V; what it cannot read goes the
// way of flash.mma. The bits are the same.
#pragma once

#include "kernels/flash/mma.hpp"
#include "kernels/flash/warpgroup_form.hpp"

namespace nbx::flash {

/// flash.wgmma of tensors in format T, without its promises.
template <class T, class U>
struct WgmmaCommon : MmaCommon<T, U> {
  using Mma = MmaCommon<T, U>;

#if defined(__CUDACC__)
  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Attention a = Mma::read(problem, false);
    return Mma::in_registers(a, Options(how))
               ? pack::round_up(warpgroup_takers * Mma::mark_count(a) * sizeof(std::uint32_t))
               : 0;
  }

  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const pack::Attention a = Mma::read(problem, true);
    const Options options(&how);
    if (!Mma::in_registers(a, options) || !is_hopper()) return Mma::run(problem, how);
    const std::uint64_t bytes = workspace_bytes(problem, &how);
    auto* const marks = reinterpret_cast<std::uint32_t*>(pack::require_workspace(how, bytes));
    const auto again = Mma::Matrix::program_of(a, options);
    WarpgroupProblem<T> now{};
    if (!Mma::aligned(again.a) || !map(now.k, again.a.k, again.a.k_at, a.B, a.Hk, a.Tk, a.D) ||
        !map(now.v, again.a.v, again.a.v_at, a.B, a.Hk, a.Tk, a.Dv)) {
      return Mma::run(problem, how);
    }
    const std::int64_t tiles = tile::ceil_div(a.Tq, register_rows),
                       marks_of_head = tile::ceil_div(a.Tq, warpgroup_rows);
    now.p = {again.a, Exponents::of(a.scale), marks, static_cast<unsigned>(tiles)};
    now.items = static_cast<unsigned>(Mma::mark_count(a));
    now.marks = static_cast<unsigned>(marks_of_head);
    if (now.items == 0) return;
    pack::launched("flash", std::max(a.D, a.Dv) <= 64 ? launch_warpgroup_form<T, 64>(now, how.stream)
                                                      : launch_warpgroup_form<T, 128>(now, how.stream));
    const MarkedBlocks of{again.blocks(), again.query_tiles(), marks_of_head, again.height, warpgroup_rows};
    pack::launched("flash", launch_marked(again, marks, of, how.stream));
  }

  static std::string explain(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Attention a = Mma::read(problem, false);
    return (Mma::in_registers(a, Options(how)) && is_hopper() ? "on warpgroups, 128 queries a block, where the copy "
                                                                "engine reads K and V; else "
                                                              : "") +
           Mma::explain(problem, how);
  }

 private:
  /// Code of warpgroups is for this capability alone.
  static bool is_hopper() {
    int device = 0, major = 0, minor = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
           cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess && major == 9 &&
           minor == 0;
  }

  /// Describes K or V (B, heads, keys, columns) to the copy engine. False: it does not take it.
  static bool map(CUtensorMap& to, const T* data, const pack::Layout<4>& at, std::int64_t B, std::int64_t heads,
                  std::int64_t keys, std::int64_t columns) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result) !=
            cudaSuccess ||
        result != cudaDriverEntryPointSuccess) {
      return false;
    }
    const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
    const auto size = [](std::int64_t n) { return static_cast<cuuint64_t>(n); };
    // An axis of size 1 is never stepped along; what it stores need not suit the engine.
    const auto step = [&](std::int64_t n, std::int64_t stride) { return size(n == 1 ? 16 : stride * 2); };
    const cuuint64_t sizes[4] = {size(columns), size(keys), size(heads), size(B)};
    const cuuint64_t steps[3] = {step(keys, at.stride[2]), step(heads, at.stride[1]), step(B, at.stride[0])};
    const cuuint32_t box[4] = {64, register_keys, 1, 1}, all[4] = {1, 1, 1, 1};
    return encode(&to,
                  std::is_same_v<T, tile::bf16> ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4,
                  const_cast<T*>(data), sizes, steps, box, all, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
  }
#endif
};

/// With the promises of flash.mma (`Mma` is its name), and that it has its bits. `Name` is its own.
template <class Base, const char* Name, const char* Mma>
struct WgmmaKernel : MatrixKernel<Base, Name> {
  static constexpr pack::List<nbx_equality, 8> equalities{
      pack::promised("gate3.grid"),       pack::promised("gate3.rows"),     pack::promised("gate3.batch"),
      pack::promised("gate3.view"),       pack::promised("gate3.pad"),      pack::promised("gate3.twin"),
      pack::promised("gate3.pair", Name), pack::promised("gate3.pair", Mma)};
};

}  // namespace nbx::flash
