// Eight floats side by side, for the CPU forms of tile operations. Each lane has the bits of the scalar operation.
#pragma once

#include "kernels/tile/functions.hpp"

#if defined(__AVX__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace nbx::tile {

#if defined(__AVX__) && defined(__FMA__)

struct Lanes {
  static constexpr int count = 8;
  __m256 value;

  static Lanes load(const float* from) { return {_mm256_loadu_ps(from)}; }
  static Lanes all(float x) { return {_mm256_set1_ps(x)}; }
  void store(float* to) const { _mm256_storeu_ps(to, value); }
  /// a · b + c in each lane, rounded once.
  static Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm256_fmadd_ps(a.value, b.value, c.value)}; }
};

#else

struct Lanes {
  static constexpr int count = 8;
  float value[count];

  static Lanes load(const float* from) {
    Lanes out;
    for (int i = 0; i < count; ++i) out.value[i] = from[i];
    return out;
  }
  static Lanes all(float x) {
    Lanes out;
    for (float& lane : out.value) lane = x;
    return out;
  }
  void store(float* to) const {
    for (int i = 0; i < count; ++i) to[i] = value[i];
  }
  static Lanes fma(const Lanes& a, const Lanes& b, const Lanes& c) {
    Lanes out;
    for (int i = 0; i < count; ++i) out.value[i] = tile::fma(a.value[i], b.value[i], c.value[i]);
    return out;
  }
};

#endif

}  // namespace nbx::tile
