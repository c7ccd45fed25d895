// Two toolchains held against each other: what each makes of a pack, and what that gives.
#pragma once

#include <functional>

#include "reports/bisect/bench.hpp"
#include "reports/bisect/described.hpp"
#include "reports/diff/bits.hpp"
#include "reports/diff/code.hpp"

namespace nbx::reports::diff {

/// The bits of the pack built by settings.good against those of it built by settings.bad. What one of them does not
/// compile, and cases that do not run, go to `failed`. Throws bisect::Stopped and std::runtime_error.
BitsDiff diff_bits(const bisect::Settings& settings, std::vector<std::string>& failed);

/// The machine code of its CUDA units; `architectures` empty: what each unit's command names. With `ask_stage` each
/// kernel whose machine code differs is compiled by both mixtures of front end and ptxas too.
CodeDiff diff_code(const bisect::Settings& settings, const std::vector<contracts::KernelInfo>& kernels,
                   const std::vector<std::string>& architectures, bool ask_stage);

/// The toolchains differ in what compiles CUDA units, in what compiles host units.
bool device_side_differs(const Toolchain& a, const Toolchain& b);
bool host_side_differs(const Toolchain& a, const Toolchain& b);

}  // namespace nbx::reports::diff
