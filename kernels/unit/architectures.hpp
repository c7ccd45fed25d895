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

struct Architecture {
  std::string_view name;
  Known f16, bf16, tf32;
  Known e4m3;        // mma.sync: the groups of the f16 path
  Known wgmma_e4m3;  // fp8's own path
};

inline constexpr Known no_unit{{0, 0, 0}, false};

inline constexpr Architecture architectures[] = {
    {"sm_70", {{4, 23, -131}, false}, no_unit, no_unit, no_unit, no_unit},
    {"sm_75", {{8, 24, -132}, false}, no_unit, no_unit, no_unit, no_unit},
    {"sm_80", {{8, 24, -132}, false}, {{8, 24, -132}, false}, {{4, 24, -132}, false}, no_unit, no_unit},
    {"sm_86", {{8, 24, -132}, false}, {{8, 24, -132}, false}, {{4, 24, -132}, false}, no_unit, no_unit},
    {"sm_89", {{8, 24, -132}, false}, {{8, 24, -132}, false}, {{4, 24, -132}, false}, no_unit, no_unit},
    {"sm_90",
     {{16, 25, -133}, true},
     {{16, 25, -133}, true},
     {{8, 25, -133}, true},
     {{16, 25, -133}, true},
     {{32, 13, -133, 14}, true}},
    {"sm_100", {{16, 25, -133}, false}, {{16, 25, -133}, false}, {{8, 25, -133}, false}, no_unit, no_unit},
    {"sm_120", {{16, 25, -133}, false}, {{16, 25, -133}, false}, {{8, 25, -133}, false}, no_unit, no_unit},
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
