// The matrix units of each architecture, as parameters of one model. PTX promises none of this: what was measured bit
// for bit is marked, the rest is from published measurements (Fasi, Higham, Mikaitis and Pranesh, 2021; Li, Li, Wei and
// Zhang, "FTTN", 2024; and their successors) and holds until a device says otherwise (`nbx-contract probe`).
#pragma once

#include <iterator>
#include <string_view>

#include "kernels/unit/group.hpp"

namespace nbx::unit {

/// A group's parameters; length 0: the architecture has no such unit.
struct Known {
  Group group;
  bool measured;
};

inline constexpr Known no_unit{{0, 0, 0}, false};

struct Architecture {
  std::string_view name;
  // mma.sync; e4m3 as groups of the f16 path
  Known f16 = no_unit, bf16 = no_unit, tf32 = no_unit, e4m3 = no_unit;
  // wgmma; e4m3 by fp8's own path
  Known wgmma_f16 = no_unit, wgmma_bf16 = no_unit, wgmma_tf32 = no_unit, wgmma_e4m3 = no_unit;
};

inline constexpr Known ampere{{8, 24, -132}, false}, ampere_tf32{{4, 24, -132}, false};
inline constexpr Known hopper{{16, 25, -133}, true}, hopper_tf32{{8, 25, -133}, true};
inline constexpr Known blackwell{{16, 25, -133}, false}, blackwell_tf32{{8, 25, -133}, false};

inline constexpr Architecture architectures[] = {
    {.name = "sm_70", .f16 = {{4, 23, -131}, false}},
    {.name = "sm_75", .f16 = {{8, 24, -132}, false}},
    {.name = "sm_80", .f16 = ampere, .bf16 = ampere, .tf32 = ampere_tf32},
    {.name = "sm_86", .f16 = ampere, .bf16 = ampere, .tf32 = ampere_tf32},
    {.name = "sm_89", .f16 = ampere, .bf16 = ampere, .tf32 = ampere_tf32},
    {.name = "sm_90",
     .f16 = hopper,
     .bf16 = hopper,
     .tf32 = hopper_tf32,
     .e4m3 = hopper,
     .wgmma_f16 = hopper,
     .wgmma_bf16 = hopper,
     .wgmma_tf32 = hopper_tf32,
     .wgmma_e4m3 = {{32, 13, -133, 14}, true}},
    {.name = "sm_100", .f16 = blackwell, .bf16 = blackwell, .tf32 = blackwell_tf32},
    {.name = "sm_120", .f16 = blackwell, .bf16 = blackwell, .tf32 = blackwell_tf32},
};

/// nullptr where it is not among them.
constexpr const Architecture* architecture(std::string_view name) {
  for (const Architecture& one : architectures) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

inline constexpr std::string_view default_architecture = "sm_90";

/// What this library's models imitate. Set once, before the first kernel runs; process-wide, as a pack is of one
/// device.
inline const Architecture*& imitated_place() {
  static const Architecture* place = architecture(default_architecture);
  return place;
}
inline const Architecture& imitated() { return *imitated_place(); }
inline void imitate(const Architecture& one) { imitated_place() = &one; }

}  // namespace nbx::unit
