// The bisect of machine code alone, for which no device is needed: a CUDA unit's code depends on that unit and nothing
// else, so each unit that becomes other code is a minimal set of its own, and what is asked is stage and flag.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "contracts/child/executor.hpp"
#include "reports/bisect/bisect.hpp"
#include "reports/bisect/device_code.hpp"

namespace nbx::reports::bisect {

/// The CUDA units of kernels, named as the first kernel that each holds; without kernels to go by (--units alone) every
/// CUDA unit, by its own name. Units that the patterns leave out are not among them.
std::vector<NamedUnit> device_units(const Settings& settings, const std::vector<contracts::KernelInfo>& kernels);

/// Units by a toolchain for architectures.
using MakeCode = std::function<contracts::codegen::Build(
    const std::vector<NamedUnit>& units, const Toolchain& toolchain, const std::vector<std::string>& architectures)>;
/// In the settings' folder, each once by content. Throws Stopped. `settings` has to outlive it.
MakeCode code_maker(const Settings& settings);

/// Whose fault it is that a unit does not become `good_code`: both mixtures of front end and ptxas are asked.
StageBlame stage_of_code(const NamedUnit& unit, const Toolchain& good, const Toolchain& bad,
                         const std::string& architecture, const contracts::codegen::Code& good_code,
                         const MakeCode& make);

/// What both sides' code shows of a unit.
void add_code(UnitEvidence& to, const std::string& architecture, const contracts::codegen::Code& good,
              const contracts::codegen::Code& bad);

/// Every CUDA unit that becomes other machine code, with its stage and flags. Throws std::runtime_error where there is
/// none to ask, and Stopped.
Result bisect_code(const Settings& settings, const std::vector<contracts::KernelInfo>& kernels);

}  // namespace nbx::reports::bisect
