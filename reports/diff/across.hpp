// gate3.compilers: a pack gives the same bits from every compiler, optimised or not, for a wide machine or a plain one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/diff/toolchains.hpp"

namespace nbx::reports::diff {

/// One way of building the pack, and what it gives beside the pack as it was built.
struct Across {
  Toolchain toolchain;
  BitsDiff bits;
  std::string why_not;  // could not be built or run: red, as nothing was compared
  bool same() const { return why_not.empty() && bits.cases > 0 && !bits.differs(); }
};

/// Builds settings.pack by each toolchain in turn and holds its bits against those of `reference`, a pack that was
/// built already. settings.good and settings.bad are not looked at. Throws bisect::Stopped and std::runtime_error.
std::vector<Across> across(const bisect::Settings& settings, const std::filesystem::path& reference,
                           const std::vector<Toolchain>& toolchains);

/// Each compiler with each set of flags ("-O3 -march=x86-64-v4"). Flags that this machine cannot run, AVX-512 where
/// there is none, are left out and said in `notes`.
std::vector<Toolchain> compilers_and_flags(const std::vector<Toolchain>& compilers,
                                           const std::vector<std::string>& flags, std::vector<std::string>& notes);

/// "  same      g++ 11.4.0 -O0   71 kernels, 1,234 cases" for each, the first differing case of each that differs, and
/// a last line that starts with ACROSS.
std::string across_text(const std::vector<Across>& all, std::size_t width);
std::string across_json(const std::vector<Across>& all);

}  // namespace nbx::reports::diff
