// The kernels of the packs: one name a line, the translation unit of each defines it.
#pragma once

#include "kernels/pack/nbx_pack.h"

// clang-format off
#define NBX_KERNELS(each)       \
  each(softmax_tile_f32) \
  each(softmax_tile_f16) \
  each(softmax_tile_bf16) \
  each(softmax_looped_f32) \
  each(softmax_looped_f16) \
  each(softmax_looped_bf16) \
  each(log_softmax_tile_f32) \
  each(log_softmax_tile_f16) \
  each(log_softmax_tile_bf16) \
  each(log_softmax_looped_f32) \
  each(log_softmax_looped_f16) \
  each(log_softmax_looped_bf16) \
  each(math_simt_f32) \
  each(math_simt_f16) \
  each(math_simt_bf16) \
  each(math_published_f32) \
  each(math_published_f16) \
  each(math_published_bf16) \
  each(chunked_simt_f32) \
  each(chunked_simt_f16) \
  each(chunked_simt_bf16) \
  each(flash_simt_f32) \
  each(flash_simt_f16) \
  each(flash_simt_bf16) \
  each(flash_published_f32) \
  each(flash_published_f16) \
  each(flash_published_bf16) \
  each(flash_mma_f16) \
  each(flash_mma_bf16) \
  each(flash_mma_tf32) \
  each(flash_mma_e4m3) \
  each(flash_wgmma_f16) \
  each(flash_wgmma_bf16) \
  each(flash_m8n8k4_f16) \
  each(flash_m8n8k4_split_f32) \
  each(sdpa_route_f32) \
  each(sdpa_route_f16) \
  each(sdpa_route_bf16) \
  each(splash_online_f32) \
  each(splash_online_f16) \
  each(splash_online_bf16) \
  each(splash_hybrid_f32) \
  each(splash_hybrid_bf16) \
  each(splash_uniform_f32) \
  each(splash_uniform_bf16) \
  each(splash_metadata_f32) \
  each(splash_metadata_f16) \
  each(splash_metadata_bf16) \
  each(splash_dispatch_f32) \
  each(splash_dispatch_f16) \
  each(splash_dispatch_bf16) \
  each(splash_ring_f32) \
  each(splash_ring_bf16) \
  each(splash_ring_online_f32) \
  each(splash_ring_online_bf16) \
  each(decode_split_f32) \
  each(decode_split_f16) \
  each(decode_split_bf16) \
  each(decode_vec_f32) \
  each(decode_vec_f16) \
  each(decode_vec_bf16) \
  each(decode_published_f32) \
  each(decode_published_f16) \
  each(decode_published_bf16) \
  each(paged_append_f32) \
  each(paged_append_f16) \
  each(paged_append_bf16) \
  each(paged_decode_f32) \
  each(paged_decode_f16) \
  each(paged_decode_bf16) \
  each(paged_published_f32) \
  each(paged_published_f16) \
  each(paged_published_bf16) \
  each(q35_partial_bf16) \
  each(q35_partial_e4m3) \
  each(q35_merge_bf16) \
  each(q35_merge_e4m3) \
  each(q35_published_bf16) \
  each(q35_published_e4m3)
// clang-format on

namespace nbx::kernels {

#define NBX_DECLARE(name) extern const nbx_kernel name;
NBX_KERNELS(NBX_DECLARE)
#undef NBX_DECLARE

#define NBX_ADDRESS(name) &name,
inline constexpr const nbx_kernel* all[] = {NBX_KERNELS(NBX_ADDRESS)};
#undef NBX_ADDRESS

}  // namespace nbx::kernels
