#include "reports/diff/toolchains.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/bisect/code.hpp"
#include "reports/diff/build_pack.hpp"

namespace nbx::reports::diff {
namespace {

namespace fs = std::filesystem;

/// The units of one side; where it does not compile one, the other side's stands in for it and `failed` says so.
std::vector<fs::path> objects_of(const bisect::Settings& settings, const std::vector<bisect::Made>& own,
                                 const std::vector<bisect::Made>& other, const Toolchain& toolchain,
                                 std::vector<std::string>& failed) {
  std::vector<fs::path> out;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::string& unit = settings.pack.units[i].name;
    if (!own[i].good())
      failed.push_back(fmt::format("{} does not compile {}: {}", toolchain.name, unit, own[i].why_not));
    if (!own[i].good() && !other[i].good()) {
      throw std::runtime_error(fmt::format("neither toolchain compiles {}: {}", unit, own[i].why_not));
    }
    out.push_back(own[i].good() ? own[i].file : other[i].file);
  }
  return out;
}

}  // namespace

bool device_side_differs(const Toolchain& a, const Toolchain& b) {
  return a.nvcc != b.nvcc || a.nvcc_flags != b.nvcc_flags || a.ptxas != b.ptxas || a.ptxas_flags != b.ptxas_flags;
}

bool host_side_differs(const Toolchain& a, const Toolchain& b) {
  return a.cxx != b.cxx || a.cxx_flags != b.cxx_flags || a.unit_flags != b.unit_flags;
}

BitsDiff diff_bits(const bisect::Settings& settings, std::vector<std::string>& failed) {
  bisect::Workshop workshop(settings.folder, settings.say);
  const std::vector<bisect::Made> first = build_units(settings, workshop, settings.good);
  const std::vector<bisect::Made> second = build_units(settings, workshop, settings.bad);
  std::vector<fs::path> packs;
  std::vector<contracts::Record> records;
  for (const Toolchain* toolchain : {&settings.good, &settings.bad}) {
    const bool is_first = toolchain == &settings.good;
    const std::vector<fs::path> objects =
        objects_of(settings, is_first ? first : second, is_first ? second : first, *toolchain, failed);
    const bisect::Made pack = workshop.pack(objects, settings.pack.link);
    if (!pack.good()) {
      throw std::runtime_error(fmt::format("{}: the pack does not link: {}", toolchain->name, pack.why_not));
    }
    packs.push_back(pack.file);
    records.push_back(recorded(pack.file, settings, *toolchain, failed));
  }
  BitsDiff out = compare_bits(records[0], records[1], {});
  for (KernelBits& kernel : out.differing) {
    judge_changes(kernel, [&](const std::string& problem) {
      return contracts::compare_packs(packs[0], packs[1], kernel.kernel, problem, settings.run.seed,
                                      settings.run.timeout);
    });
  }
  return out;
}

CodeDiff diff_code(const bisect::Settings& settings, const std::vector<contracts::KernelInfo>& kernels,
                   const std::vector<std::string>& architectures, bool ask_stage) {
  const std::vector<bisect::NamedUnit> units = bisect::device_units(settings, kernels);
  if (units.empty()) throw std::runtime_error("the toolchains differ for CUDA units, and the pack has none selected");
  std::vector<std::string> wanted = architectures;
  if (wanted.empty()) wanted.push_back(bisect::architecture_of(*units.front().unit));
  const bisect::MakeCode make = bisect::code_maker(settings);
  const auto good = make(units, settings.good, wanted), bad = make(units, settings.bad, wanted);
  CodeDiff out = compare_code(good.record, bad.record, {}, {});
  for (const auto* made : {&good, &bad}) {
    const std::string& name = (made == &good ? settings.good : settings.bad).name;
    for (const std::string& error : made->errors) out.failed.push_back(fmt::format("{}: {}", name, error));
    for (const std::string& one : made->unknown) out.failed.push_back(fmt::format("{} does not know {}", name, one));
  }
  if (!ask_stage) return out;
  for (KernelCode& one : out.differing) {
    if (!one.code_differs()) continue;
    const auto unit = std::find_if(units.begin(), units.end(), [&](const auto& u) { return u.name == one.kernel; });
    one.stage = bisect::stage_of_code(*unit, settings.good, settings.bad, one.architecture,
                                      good.record.kernels.at(one.kernel).at(one.architecture), make);
  }
  return out;
}

}  // namespace nbx::reports::diff
