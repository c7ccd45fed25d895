// Which architecture's matrix units a CPU pack models: NBX_IMITATES of the environment, sm_90 unless given.
#pragma once

#include <cstdlib>
#include <string>

#include "kernels/unit/architectures.hpp"

namespace nbx::pack {

/// Sets it for the whole process. Returns what is wrong with the name, else empty.
inline std::string choose_imitated() {
  const char* const name = std::getenv("NBX_IMITATES");
  if (name == nullptr || *name == '\0') return {};
  if (const unit::Architecture* const one = unit::architecture(name); one != nullptr) {
    unit::imitate(*one);
    return {};
  }
  std::string known;
  for (const unit::Architecture& one : unit::architectures)
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  return "NBX_IMITATES: " + std::string(name) + "; accepted: " + known;
}

}  // namespace nbx::pack
