// The matrix units by instruction: what each multiplies, and how much of k one instruction takes. Products are chained:
// the result of one is the addend of the next, in rising k; missing terms of the last are zeros.
#pragma once

#include "kernels/unit/architectures.hpp"

namespace nbx::unit {

/// mma.sync m16n8k16 f16 → f32.
struct M16N8K16F16 {
  static constexpr int k = 16;
  static constexpr OperandFormat format = f16_operand;
  static constexpr const Known& known(const Architecture& of) { return of.f16; }
};

/// mma.sync m16n8k16 bf16 → f32.
struct M16N8K16BF16 {
  static constexpr int k = 16;
  static constexpr OperandFormat format = bf16_operand;
  static constexpr const Known& known(const Architecture& of) { return of.bf16; }
};

/// mma.sync m16n8k8 tf32 → f32. Operands are fp32 words.
struct M16N8K8TF32 {
  static constexpr int k = 8;
  static constexpr OperandFormat format = tf32_operand;
  static constexpr const Known& known(const Architecture& of) { return of.tf32; }
};

/// mma.sync m16n8k32 e4m3 → f32: two groups of 16 on the f16 path, chained from zero, then the addend is added in fp32,
/// to nearest. Group h takes k = 4i + 2h and 4i + 2h + 1.
struct M16N8K32E4M3 {
  static constexpr int k = 32;
  static constexpr OperandFormat format = f16_operand;
  static constexpr bool adds_at_the_end = true;
  static constexpr int place(int at) { return at / 16 * 2 + at % 16 / 2 * 4 + at % 2; }
  static constexpr const Known& known(const Architecture& of) { return of.e4m3; }
};

/// wgmma m64nNk16 f16 → f32.
struct WgmmaF16 {
  static constexpr int k = 16;
  static constexpr OperandFormat format = f16_operand;
  static constexpr const Known& known(const Architecture& of) { return of.wgmma_f16; }
};

/// wgmma m64nNk16 bf16 → f32.
struct WgmmaBF16 {
  static constexpr int k = 16;
  static constexpr OperandFormat format = bf16_operand;
  static constexpr const Known& known(const Architecture& of) { return of.wgmma_bf16; }
};

/// wgmma m64nNk8 tf32 → f32. Operands are fp32 words.
struct WgmmaTF32 {
  static constexpr int k = 8;
  static constexpr OperandFormat format = tf32_operand;
  static constexpr const Known& known(const Architecture& of) { return of.wgmma_tf32; }
};

/// wgmma m64nNk32 e4m3 → f32, fp8's own path.
struct WgmmaE4M3 {
  static constexpr int k = 32;
  static constexpr OperandFormat format = e4m3_operand;
  static constexpr const Known& known(const Architecture& of) { return of.wgmma_e4m3; }
};

/// mma.sync m8n8k4 f16 → f32, which is no unit of its own on sm_90: exact products, +0 + p0, + p1, + p2, + p3, +
/// addend, each sum rounded to nearest.
struct M8N8K4F16 {
  static constexpr int k = 4;
};

/// The bits of an operand's fp32 word that the unit reads.
template <class Unit>
inline constexpr std::uint32_t read_mask = 0xFFFFFFFFU;
template <>
inline constexpr std::uint32_t read_mask<M16N8K8TF32> = 0xFFFFE000U;
template <>
inline constexpr std::uint32_t read_mask<WgmmaTF32> = 0xFFFFE000U;

}  // namespace nbx::unit
