// A pack built by one toolchain, and what it gives.
#pragma once

#include <string>
#include <vector>

#include "contracts/records.hpp"
#include "reports/bisect/bench.hpp"

namespace nbx::reports::diff {

/// Every unit of settings.pack by `toolchain`, on as many threads as settings.run.jobs; units of settings.good_anyway,
/// on which no selected kernel depends, as the build has them.
std::vector<bisect::Made> build_units(const bisect::Settings& settings, bisect::Workshop& workshop,
                                      const Toolchain& toolchain);

/// The pack of them. Units that do not compile go to `failed`, and there is no pack then.
bisect::Made build_pack(const bisect::Settings& settings, bisect::Workshop& workshop, const Toolchain& toolchain,
                        std::vector<std::string>& failed);

/// The fingerprints of a pack's selected kernels; cases that do not run go to `failed`. Throws bisect::Stopped.
contracts::Record recorded(const std::filesystem::path& pack, const bisect::Settings& settings,
                           const Toolchain& toolchain, std::vector<std::string>& failed);

}  // namespace nbx::reports::diff
