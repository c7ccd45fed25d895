#include "reports/bisect/described.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "contracts/pattern.hpp"
#include "reports/session.hpp"

namespace nbx::reports::bisect {

namespace fs = std::filesystem;

Described described(const std::string& units, const contracts::RunOptions& options) {
  std::vector<fs::path> packs = options.named_packs;
  const std::string own = options.device == "cuda" ? "cuda" : "cpu";
  for (const fs::path& pack : options.packs) {
    if (options.named_packs.empty() && units.empty() && pack.stem() == own) packs.push_back(pack);
  }
  if (packs.empty() && !units.empty()) return {{}, units, {}};
  if (packs.size() != 1) {
    throw UsageError(fmt::format("{} packs; accepted: one, by --pack or beside the command", packs.size()));
  }
  contracts::Executor executor(packs.front(), {.timeout = options.timeout});
  contracts::PackError error;
  auto info = executor.open(&error);
  if (!info) throw std::runtime_error(fmt::format("{}: {}", packs.front().string(), error.reason));
  Described out{packs.front(), units, std::move(info->kernels)};
  if (!out.units.empty()) return out;
  if (info->compile_commands.empty()) {
    throw UsageError(
        fmt::format("{}: the pack does not say how it is built; --units FILE does", packs.front().string()));
  }
  const fs::path named = info->compile_commands;
  out.units = named.is_absolute() ? named : packs.front().parent_path() / named;
  return out;
}

Described described_device_code(const std::string& units, const contracts::RunOptions& options, const fs::path& build) {
  if (!units.empty() || !options.named_packs.empty()) return described(units, options);
  const fs::path file = build / "packs" / "cuda.units.json";
  if (!fs::exists(file)) {
    throw std::runtime_error(
        fmt::format("{} is not there: the build has no CUDA pack; accepted: --units FILE", file.string()));
  }
  contracts::RunOptions host = options;
  host.device = "cpu";
  return {{}, file, described("", host).kernels};
}

std::set<std::string> left_out(const PackUnits& pack, const std::vector<contracts::KernelInfo>& kernels,
                               const std::vector<std::string>& patterns) {
  std::set<std::string> out, kept;
  for (const Unit& unit : pack.units) {
    for (const contracts::KernelInfo& kernel : kernels) {
      if (kernel.unit.empty() || !("/" + unit.file.string()).ends_with("/" + kernel.unit)) continue;
      // A pattern of whole cases may select any kernel that its part before '/' does.
      const bool selected =
          patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) {
            return contracts::selects(p.substr(0, p.find_first_of("/(")), kernel.name) || p.starts_with("gate");
          });
      (selected ? kept : out).insert(unit.name);
    }
  }
  for (const std::string& name : kept) out.erase(name);
  return out;
}

}  // namespace nbx::reports::bisect
