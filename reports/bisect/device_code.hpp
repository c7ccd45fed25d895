// What a toolchain makes of CUDA units: PTX and machine code, without a device.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "contracts/codegen/build.hpp"
#include "reports/bisect/units.hpp"

namespace nbx::reports::bisect {

/// A CUDA unit and the name that its code is to have in the record: a kernel's.
struct NamedUnit {
  std::string name;
  const Unit* unit = nullptr;
};

/// The architecture that a unit's command compiles machine code for, "sm_90"; the last one where there are several,
/// empty where it names none.
std::string architecture_of(const Unit& unit);

/// The front end of `toolchain` before the ptxas of `assembler`, with its flags.
Toolchain with_assembler_of(const Toolchain& toolchain, const Toolchain& assembler, const Unit& unit);

/// Compiled in `folder`, each unit and architecture once by content. Throws std::runtime_error.
contracts::codegen::Build device_code(const std::vector<NamedUnit>& units, const Toolchain& toolchain,
                                      const std::vector<std::string>& architectures,
                                      const std::filesystem::path& folder, int jobs, const std::atomic<bool>& stop);

}  // namespace nbx::reports::bisect
