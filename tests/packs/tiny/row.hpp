// The row of a plain unit: a softmax with an exponential of its own, so that its bits are its own compiler's alone.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>

/// exp(x) for x <= 0 within 4 ulp: 2^n by its bits, and a polynomial in the rest.
static float tiny_exp(float x) {
  if (x < -87.0F) return 0.0F;
  const float n = static_cast<float>(static_cast<int>(x * 1.44269504F - 0.5F));
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.38888889e-3F;
  for (const float term : {8.33333333e-3F, 0.0416666667F, 0.166666667F, 0.5F, 1.0F, 1.0F}) p = term + r * p;
  const std::uint32_t bits = static_cast<std::uint32_t>(static_cast<int>(n) + 127) << 23;
  float power = 0;
  std::memcpy(&power, &bits, sizeof power);
  return p * power;
}

static void tiny_plain_row(const float* x, float* y, std::int64_t columns) {
  float max = x[0];
  for (std::int64_t i = 1; i < columns; ++i) {
    if (x[i] > max || x[i] != x[i]) max = x[i];  // a NaN stays: nothing is greater
  }
  const bool lost = max - max != 0.0F;  // a NaN, a +inf or only -inf
  float sum = 0;
  for (std::int64_t i = 0; i < columns; ++i) {
    y[i] = lost ? max - max : tiny_exp(x[i] - max);
    sum += y[i];
  }
  for (std::int64_t i = 0; i < columns; ++i) y[i] /= sum;
}
