// math and chunked with some of their parts replaced.
#pragma once

#include "controls/mutation.hpp"
#include "kernels/math/chunked.hpp"
#include "kernels/math/simt.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::controls {

/// The promises of a control are the honest kernel's, whatever name these are given.
inline constexpr char no_name[] = "";

template <class T>
inline constexpr const nbx_kernel* honest_math = nullptr;
template <>
inline constexpr const nbx_kernel* honest_math<float> = &kernels::math_simt_f32;
template <>
inline constexpr const nbx_kernel* honest_math<tile::f16> = &kernels::math_simt_f16;
template <>
inline constexpr const nbx_kernel* honest_math<tile::bf16> = &kernels::math_simt_bf16;

template <class T>
inline constexpr const nbx_kernel* honest_chunked = nullptr;
template <>
inline constexpr const nbx_kernel* honest_chunked<float> = &kernels::chunked_simt_f32;
template <>
inline constexpr const nbx_kernel* honest_chunked<tile::f16> = &kernels::chunked_simt_f16;
template <>
inline constexpr const nbx_kernel* honest_chunked<tile::bf16> = &kernels::chunked_simt_bf16;

template <class T, class R, template <class, class> class S = math::Stages>
constexpr Target in_math() {
  return in_place_of<math::SimtKernel<T, no_name, R, S>>(*honest_math<T>);
}

template <class T, class R, template <class, class> class S = math::Stages>
constexpr Target in_chunked() {
  return in_place_of<math::ChunkedKernel<T, no_name, R, S>>(*honest_chunked<T>);
}

}  // namespace nbx::controls
