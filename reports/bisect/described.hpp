// Which pack's units are meant, and how that pack is built.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "contracts/child/executor.hpp"
#include "contracts/runner.hpp"
#include "reports/bisect/units.hpp"

namespace nbx::reports::bisect {

/// A pack's own words on how it is built.
struct Described {
  std::filesystem::path file;   // of the pack; empty where it need not be there
  std::filesystem::path units;  // what read_units takes
  std::vector<contracts::KernelInfo> kernels;
};

/// The one pack that the options name, or the build's own for the device; with `units` (--units) it need not be there.
/// Throws UsageError where that is not one pack or it does not say how it is built, std::runtime_error where it does
/// not load.
Described described(const std::string& units, const contracts::RunOptions& options);

/// As described(), for device code, which no device is needed for: the build's own CUDA pack in `build` does not load
/// where there is none, so what it is built from is read beside it, and its kernels are the CPU pack's.
Described described_device_code(const std::string& units, const contracts::RunOptions& options,
                                const std::filesystem::path& build);

/// Units of kernels that the patterns leave out. Kernels do not call each other's units.
std::set<std::string> left_out(const PackUnits& pack, const std::vector<contracts::KernelInfo>& kernels,
                               const std::vector<std::string>& patterns);

}  // namespace nbx::reports::bisect
