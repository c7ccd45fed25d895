// flash with some of its parts replaced.
#pragma once

#include "controls/mutation.hpp"
#include "kernels/flash/kernel.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::controls {

template <class T>
inline constexpr const nbx_kernel* honest_flash = nullptr;
template <>
inline constexpr const nbx_kernel* honest_flash<float> = &kernels::flash_simt_f32;
template <>
inline constexpr const nbx_kernel* honest_flash<tile::f16> = &kernels::flash_simt_f16;
template <>
inline constexpr const nbx_kernel* honest_flash<tile::bf16> = &kernels::flash_simt_bf16;

/// The promises of a control are the honest kernel's: the base without them is enough.
template <class T, class R, template <class, class> class P = flash::Program>
constexpr Target in_flash() {
  return in_place_of<flash::Common<T, R, P>>(*honest_flash<T>);
}

}  // namespace nbx::controls
