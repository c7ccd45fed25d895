// splash with some of its parts replaced.
#pragma once

#include "controls/mutation.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::controls {

template <class R>
constexpr Target in_splash_online() {
  return in_place_of<splash::OnlineKernel<tile::bf16, R>>(kernels::splash_online_bf16);
}
template <class R>
constexpr Target in_splash_hybrid() {
  return in_place_of<splash::HybridKernel<float, R>>(kernels::splash_hybrid_f32);
}
template <class R>
constexpr Target in_splash_uniform() {
  return in_place_of<splash::UniformKernel<tile::bf16, R>>(kernels::splash_uniform_bf16);
}
template <class R>
constexpr Target in_splash_metadata() {
  return in_place_of<splash::MetadataKernel<float, R>>(kernels::splash_metadata_f32);
}
template <class R>
constexpr Target in_splash_dispatch() {
  return in_place_of<splash::DispatchKernel<tile::bf16, R>>(kernels::splash_dispatch_bf16);
}

}  // namespace nbx::controls
