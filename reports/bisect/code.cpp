#include "reports/bisect/code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "contracts/codegen/difference.hpp"
#include "reports/interrupt.hpp"

namespace nbx::reports::bisect {
namespace {

using contracts::codegen::Build;
using contracts::codegen::Code;

/// Null where it was not made.
const Code* code_of(const Build& build, const std::string& unit, const std::string& architecture) {
  const auto of_unit = build.record.kernels.find(unit);
  if (of_unit == build.record.kernels.end()) return nullptr;
  const auto code = of_unit->second.find(architecture);
  return code == of_unit->second.end() ? nullptr : &code->second;
}

/// What the compiler said of one unit, out of "unit for sm_90: ..." and "unit: ...".
std::string error_of(const Build& build, const std::string& unit) {
  for (const std::string& error : build.errors) {
    if (error.starts_with(unit + " for ") || error.starts_with(unit + ":")) return error;
  }
  return build.unknown.empty() ? unit + ": it was not made" : "the compiler does not know " + build.unknown.front();
}

class CodeBisection {
 public:
  CodeBisection(const Settings& settings, const std::vector<contracts::KernelInfo>& kernels)
      : settings_(settings), make_(code_maker(settings)), units_(device_units(settings, kernels)) {}

  Result run() {
    if (units_.empty()) throw std::runtime_error("the pack has no CUDA unit selected: there is no device code to ask");
    architecture_ = architecture_of(*units_.front().unit);
    if (architecture_.empty()) {
      throw std::runtime_error(
          fmt::format("{}: its command names no architecture; accepted: one with -arch=sm_90", units_.front().name));
    }
    const Build good = make(units_, settings_.good), bad = make(units_, settings_.bad);
    result_.units = units_.size();
    for (const NamedUnit& unit : units_) {
      const Code *before = code_of(good, unit.name, architecture_), *after = code_of(bad, unit.name, architecture_);
      if (before == nullptr || after == nullptr) {
        const bool is_bad = before != nullptr;
        result_.untestable.push_back(
            {unit.name, (is_bad ? settings_.bad : settings_.good).name, error_of(is_bad ? bad : good, unit.name)});
      } else if (contracts::codegen::difference(*before, *after).code_differs()) {
        blame(unit, *before, *after);
      }
    }
    result_.suspects = result_.suspect_names.size();
    return std::move(result_);
  }

 private:
  Build make(const std::vector<NamedUnit>& units, const Toolchain& toolchain) {
    Build made = make_(units, toolchain, {architecture_});
    result_.built += static_cast<std::size_t>(made.compiled);
    result_.remembered += static_cast<std::size_t>(made.cached);
    return made;
  }

  void blame(const NamedUnit& unit, const Code& good, const Code& bad) {
    result_.found.minimal.push_back({result_.suspect_names.size()});
    result_.suspect_names.push_back(unit.name);
    Blame out;
    out.units = {unit.name};
    out.stage = stage_of_code(
        unit, settings_.good, settings_.bad, architecture_, good,
        [this](const auto& units, const Toolchain& toolchain, const auto&) { return make(units, toolchain); });
    const auto flags = [&](const Toolchain& toolchain) { return added_flags(toolchain, unit.unit->name, true); };
    const auto compiler = [&](const Toolchain& toolchain) { return compile_words(*unit.unit, toolchain).front(); };
    out.flags = blame_flags(
        flags(settings_.good), flags(settings_.bad),
        compiler(settings_.good) != compiler(settings_.bad) || settings_.good.ptxas != settings_.bad.ptxas,
        CompilerKind::nvcc, {}, [&](const Variant& variant) {
          Toolchain toolchain = variant.bad_compiler ? settings_.bad : settings_.good;
          toolchain.unit_flags.clear();
          toolchain.ptxas_flags.clear();
          toolchain.nvcc_flags = variant.flags;
          const Build made = make({unit}, toolchain);
          const Code* const code = code_of(made, unit.name, architecture_);
          if (code == nullptr) return Answer::untestable;
          return contracts::codegen::difference(good, *code).code_differs() ? Answer::changed : Answer::same;
        });
    out.evidence.emplace_back().unit = unit.name;
    add_code(out.evidence.back(), architecture_, good, bad);
    result_.blames.push_back(std::move(out));
  }

  const Settings& settings_;
  MakeCode make_;
  std::vector<NamedUnit> units_;
  std::string architecture_;
  Result result_;
};

}  // namespace

std::vector<NamedUnit> device_units(const Settings& settings, const std::vector<contracts::KernelInfo>& kernels) {
  std::vector<NamedUnit> out;
  for (const Unit& unit : settings.pack.units) {
    if (!unit.cuda || settings.good_anyway.count(unit.name) != 0) continue;
    std::string name;
    for (const contracts::KernelInfo& kernel : kernels) {
      const bool made_of = !kernel.unit.empty() && ("/" + unit.file.string()).ends_with("/" + kernel.unit);
      if (made_of && name.empty()) name = kernel.name;
    }
    if (kernels.empty()) name = unit.name;
    if (!name.empty()) out.push_back({name, &unit});
  }
  return out;
}

MakeCode code_maker(const Settings& settings) {
  return [&settings](const std::vector<NamedUnit>& units, const Toolchain& toolchain,
                     const std::vector<std::string>& architectures) {
    if (settings.say) settings.say(fmt::format("device code of {} units by {}", units.size(), toolchain.name));
    Build made = device_code(units, toolchain, architectures, settings.folder, settings.run.jobs, stop_requested());
    if (stop_requested()) throw Stopped{};
    return made;
  };
}

StageBlame stage_of_code(const NamedUnit& unit, const Toolchain& good, const Toolchain& bad,
                         const std::string& architecture, const Code& good_code, const MakeCode& make) {
  StageBlame out;
  const auto answer = [&](const Toolchain& front_end, const Toolchain& assembler) {
    const Build made = make({unit}, with_assembler_of(front_end, assembler, *unit.unit), {architecture});
    const Code* const code = code_of(made, unit.name, architecture);
    if (code == nullptr) out.why_not = error_of(made, unit.name);
    if (code == nullptr) return Answer::untestable;
    return contracts::codegen::difference(good_code, *code).code_differs() ? Answer::changed : Answer::same;
  };
  const Answer front_end = answer(bad, good), ptxas = answer(good, bad);
  out.culprit = blame_stage(front_end, ptxas);
  return out;
}

void add_code(UnitEvidence& to, const std::string& architecture, const Code& good, const Code& bad) {
  to.architecture = architecture;
  to.good_ptx = fmt::format("{:016x}", good.ptx);
  to.bad_ptx = fmt::format("{:016x}", bad.ptx);
  to.device = contracts::codegen::difference(good, bad);
}

Result bisect_code(const Settings& settings, const std::vector<contracts::KernelInfo>& kernels) {
  return CodeBisection(settings, kernels).run();
}

}  // namespace nbx::reports::bisect
