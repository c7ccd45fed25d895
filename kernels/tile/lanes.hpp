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
  static Lanes add(Lanes a, Lanes b) { return {_mm256_add_ps(a.value, b.value)}; }
  /// to[i] = (0 + 1) + (2 + 3) of from[i], to[4 + i] = (4 + 5) + (6 + 7) of it, i < 4.
  static void sums_of_neighbours(const Lanes* from, float* to) {
    const __m256 first = _mm256_hadd_ps(from[0].value, from[1].value);
    const __m256 second = _mm256_hadd_ps(from[2].value, from[3].value);
    _mm256_storeu_ps(to, _mm256_hadd_ps(first, second));  // the lower four of all, then the upper four
  }
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
  static Lanes add(const Lanes& a, const Lanes& b) {
    Lanes out;
    for (int i = 0; i < count; ++i) out.value[i] = a.value[i] + b.value[i];
    return out;
  }
  static void sums_of_neighbours(const Lanes* from, float* to) {
    for (int i = 0; i < 4; ++i) {
      const float* const v = from[i].value;
      to[i] = (v[0] + v[1]) + (v[2] + v[3]);
      to[4 + i] = (v[4] + v[5]) + (v[6] + v[7]);
    }
  }
};

#endif

}  // namespace nbx::tile
