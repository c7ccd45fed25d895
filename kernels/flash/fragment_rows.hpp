// CUDA alone: what the forms of flash.mma in registers do with rows g and g + 8 of 16, which a thread has of a fragment
// of scores or of O (columns 8j + 2t and 8j + 2t + 1). The operations and their order are those of WholeRules.
#pragma once

#if defined(__CUDACC__)

#include "kernels/flash/rules.hpp"
#include "kernels/flash/whole.hpp"
#include "kernels/tile/fragments.hpp"

namespace nbx::flash {

struct FragmentRows {
  float offset[2], sum[2];  // of M, see WholeShift, and l

  NBX_DEVICE static int lane() { return static_cast<int>(tile::thread() % 32); }

  NBX_DEVICE void begin() {
    NBX_UNROLL
    for (int half = 0; half < 2; ++half) {
      offset[half] = WholeShift::start - -far_shift;
      sum[half] = 0.0F;
    }
  }

  /// Takes away what row g + 8 · half does not see: it sees the first `visible` of these keys.
  template <int N>
  NBX_DEVICE static void mask(float (&s)[N][4], int half, int visible) {
    const int column = lane() % 4 * 2;
    NBX_UNROLL
    for (int j = 0; j < N; ++j) {
      NBX_UNROLL
      for (int e = 0; e < 2; ++e) {
        float& one = s[j][2 * half + e];
        one = j * 8 + column + e < visible ? one : -tile::infinity();
      }
    }
  }

  /// Moves the shifts on for scores s; l follows. factor: what O is to be multiplied by.
  template <int N>
  NBX_DEVICE void move(const float (&s)[N][4], const Exponents& by, float (&factor)[2]) {
    const auto larger = [](float x, float y) { return tile::larger_or_nan(x, y); };
    float most[2];
    NBX_UNROLL
    for (int half = 0; half < 2; ++half) {
      float of[2] = {s[0][2 * half], s[0][2 * half + 1]};  // two chains, since one would wait for itself
      NBX_UNROLL
      for (int j = 1; j < N; ++j) {
        NBX_UNROLL
        for (int e = 0; e < 2; ++e) of[e] = larger(of[e], s[j][2 * half + e]);
      }
      most[half] = larger(of[0], of[1]);
    }
    NBX_UNROLL
    for (int half = 0; half < 2; ++half) {
      const float before = WholeShift::start - offset[half];
      const float shift = larger(before, whole_above(tile::over_quad(most[half], larger), by.c));
      offset[half] = WholeShift::start - shift;
      factor[half] = whole_rescale(before, shift);
      sum[half] *= factor[half];
    }
  }

  /// O · factor, where a row of the warp has moved.
  template <int N>
  NBX_DEVICE static void rescale(float (&o)[N][4], const float (&factor)[2]) {
    if (__any_sync(0xFFFFFFFFU, factor[0] != 1.0F || factor[1] != 1.0F)) [[unlikely]] {
      NBX_UNROLL
      for (int c = 0; c < N; ++c) {
        NBX_UNROLL
        for (int e = 0; e < 4; ++e) o[c][e] *= factor[e / 2];
      }
    }
  }

  NBX_DEVICE WholeShift shift(int half, const Exponents& by) const {
    return WholeShift::of(WholeShift::start - offset[half], by);
  }

  /// Writes the row g + 8 · half of O, which is `query` of head (b, head), and the log of its sum; nothing past the
  /// last query. True: it is to be computed again.
  template <class T, int N>
  NBX_DEVICE bool store(const Operands<T>& a, const float (&o)[N][4], int half, std::int64_t b, std::int64_t head,
                        std::int64_t query) const {
    const float all = tile::over_quad(sum[half], [](float x, float y) { return x + y; });
    const float inverse = tile::divide(1.0F, all);
    T* const to = a.o + math::offset(a.o_at, b, head, query) + lane() % 4 * 2;
    const bool there = query < a.Tq;
    const float shift = WholeShift::start - offset[half];
    bool marked = !(shift >= deepest_shift && shift <= far_shift);
    NBX_UNROLL
    for (int c = 0; c < N; ++c) {
      const float low = o[c][2 * half], high = o[c][2 * half + 1];
      marked = marked || !tile::is_finite(low) || !tile::is_finite(high);
      if (there && c * 8 < a.Dv) {
        const auto finished = [=](float x) { return tile::encode<T>(tile::settle(x * inverse)).bits; };
        *reinterpret_cast<std::uint32_t*>(to + c * 8) = finished(low) | static_cast<std::uint32_t>(finished(high))
                                                                            << 16;
      }
    }
    if (a.lse != nullptr && there && lane() % 4 == 0) {
      const auto& at = a.lse_at;
      a.lse[b * at.stride[0] + head * at.stride[1] + query * at.stride[2]] = shift * ln_2 + tile::log(all);
    }
    return marked;
  }
};

}  // namespace nbx::flash

#endif
