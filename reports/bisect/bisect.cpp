#include "reports/bisect/bisect.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/bisect/code.hpp"
#include "reports/bisect/evidence.hpp"
#include "reports/interrupt.hpp"

namespace nbx::reports::bisect {
namespace {

namespace fs = std::filesystem;

class Bisection {
 public:
  explicit Bisection(const Settings& settings) : settings_(settings), bench_(settings) {}

  Result run() {
    bench_.build();
    classify();
    bench_.look_at_good();
    // A kernel that turns out not to repeat itself is set aside, and all verdicts are taken again without it. What was
    // built and judged is remembered, so this costs little.
    for (;;) {
      try {
        search();
        for (const Set& minimal : result_.found.minimal) result_.blames.push_back(blame(in_units(minimal)));
        break;
      } catch (const FoundUnstable&) {
        result_.blames.clear();
        result_.untested.clear();
      }
    }
    result_.unstable.assign(bench_.unstable().begin(), bench_.unstable().end());
    result_.judged = bench_.judged();
    result_.recalled = bench_.recalled();
    result_.built = bench_.workshop().made();
    result_.remembered = bench_.workshop().remembered();
    return std::move(result_);
  }

 private:
  const Unit& unit(std::size_t i) const { return settings_.pack.units[i]; }

  void classify() {
    result_.units = bench_.units().size();
    for (std::size_t i = 0; i < bench_.units().size(); ++i) {
      const BuiltUnit& built = bench_.units()[i];
      if (built.differs) {
        suspects_.push_back(i);
        result_.suspect_names.push_back(unit(i).name);
      }
      if (!built.good.good() && !built.bad.good()) {
        throw std::runtime_error(fmt::format("neither toolchain compiles {}: {}", unit(i).name, built.good.why_not));
      }
      if (!built.good.good() || !built.bad.good()) {
        const bool good = built.good.good();
        result_.untestable.push_back({unit(i).name, (good ? settings_.bad : settings_.good).name,
                                      good ? built.bad.why_not : built.good.why_not});
      }
    }
    result_.suspects = suspects_.size();
  }

  Set in_units(const Set& suspects) const {
    Set out;
    for (const std::size_t i : suspects) out.push_back(suspects_[i]);
    return out;
  }

  void search() {
    std::size_t asked = 0;
    result_.found = find_minimal_sets(
        suspects_.size(),
        [&](const Set& set) {
          ++asked;
          if (settings_.say) {
            settings_.say(fmt::format("evaluation {}: {} of {} units by {}", asked, set.size(), suspects_.size(),
                                      settings_.bad.name));
          }
          const Bench::Seen seen = bench_.see(bench_.objects(in_units(set)));
          if (seen.answer == Answer::untestable) result_.untested.push_back(seen.why_not);
          return seen.answer;
        },
        settings_.most);
  }

  Blame blame(const Set& units) {
    Blame out;
    for (const std::size_t i : units) out.units.push_back(unit(i).name);
    const Bench::Seen seen = bench_.see(bench_.objects(units));
    out.changed = seen.changed;
    if (!out.changed.empty()) out.difference = element_of(out, seen.pack);
    out.stage = stage_of(units);
    out.flags = flags_of(units);
    for (const std::size_t i : units) out.evidence.push_back(evidence_of(units, i));
    return out;
  }

  /// The first changed case run once more in both packs, for its elements.
  std::optional<contracts::PackDifference> element_of(Blame& out, const fs::path& pack) {
    const ChangedCase& first = out.changed.front();
    std::string problem = first.name;
    if (settings_.until == Until::gate) {  // "gate1.reference(problem)"; clauses of gate 4 bring calls of their own
      const std::size_t open = problem.find('(');
      if (open == std::string::npos || problem.starts_with("gate4.")) return std::nullopt;
      problem = problem.substr(open + 1, problem.size() - open - 2);
    }
    out.difference_case = problem;
    return contracts::compare_packs(bench_.good_pack(), pack, first.kernel, problem, settings_.run.seed,
                                    settings_.run.timeout);
  }

  /// The same PTX through both ptxas, and the PTX of both front ends through one.
  StageBlame stage_of(const Set& units) {
    StageBlame out;
    const Unit& first = unit(units.front());
    if (!first.cuda) return out;
    const auto answer = [&](const Toolchain& front_end, const Toolchain& assembler) {
      Toolchain mixed = with_assembler_of(front_end, assembler, first);
      mixed.name = fmt::format("the front end of {} and the ptxas of {}", front_end.name, assembler.name);
      return try_toolchain(units, mixed, &out.why_not);
    };
    const Answer front_end = answer(settings_.bad, settings_.good), ptxas = answer(settings_.good, settings_.bad);
    out.culprit = blame_stage(front_end, ptxas);
    return out;
  }

  FlagBlame flags_of(const Set& units) {
    const Unit& first = unit(units.front());
    const bool cuda = first.cuda;
    const auto compiler = [&](const Toolchain& toolchain) { return compile_words(first, toolchain).front(); };
    const std::string good = compiler(settings_.good), bad = compiler(settings_.bad);
    const CompilerKind kind = cuda                                          ? CompilerKind::nvcc
                              : compiler_version(good).starts_with("clang") ? CompilerKind::clang
                                                                            : CompilerKind::gcc;
    return blame_flags(flags_for(settings_.good, units), flags_for(settings_.bad, units),
                       good != bad || settings_.good.ptxas != settings_.bad.ptxas, kind, milder_flags(kind),
                       [&](const Variant& variant) { return try_variant(units, variant); });
  }

  /// Those of all the units together; a flag counts once.
  std::vector<std::string> flags_for(const Toolchain& toolchain, const Set& units) const {
    std::vector<Flag> flags;
    for (const std::size_t i : units) {
      for (const Flag& flag : grouped_flags(added_flags(toolchain, unit(i).name, unit(i).cuda))) {
        if (std::find(flags.begin(), flags.end(), flag) == flags.end()) flags.push_back(flag);
      }
    }
    std::vector<std::string> words;
    for (const Flag& flag : flags) words.insert(words.end(), flag.begin(), flag.end());
    return words;
  }

  Answer try_variant(const Set& units, const Variant& variant) {
    Toolchain toolchain = variant.bad_compiler ? settings_.bad : settings_.good;
    toolchain.name = fmt::format("{} and flags of the question", toolchain.name);
    toolchain.unit_flags.clear();
    toolchain.ptxas_flags.clear();
    toolchain.cxx_flags = toolchain.nvcc_flags = variant.flags;
    return try_toolchain(units, toolchain);
  }

  /// What the units do when `toolchain` compiles them, and the good one all others.
  Answer try_toolchain(const Set& units, const Toolchain& toolchain, std::string* why_not = nullptr) {
    std::vector<fs::path> objects = bench_.objects({});
    for (const std::size_t i : units) {
      const Made made = bench_.workshop().object(unit(i), toolchain);
      if (!made.good() && why_not != nullptr) *why_not = made.why_not;
      if (!made.good()) return Answer::untestable;
      objects[i] = made.file;
    }
    return bench_.see(objects).answer;
  }

  /// What each toolchain makes of a CUDA unit for its device.
  void add_device_code(UnitEvidence& out, const Unit& unit) {
    const std::string architecture = architecture_of(unit);
    const MakeCode make = code_maker(settings_);
    const contracts::codegen::Build good = make({{unit.name, &unit}}, settings_.good, {architecture}),
                                    bad = make({{unit.name, &unit}}, settings_.bad, {architecture});
    for (const auto* build : {&good, &bad}) {
      if (!build->errors.empty()) out.functions_note += "; its device code: " + build->errors.front();
    }
    if (good.record.kernels.empty() || bad.record.kernels.empty()) return;
    add_code(out, architecture, good.record.kernels.at(unit.name).at(architecture),
             bad.record.kernels.at(unit.name).at(architecture));
  }

  UnitEvidence evidence_of(const Set& units, std::size_t i) {
    UnitEvidence out;
    out.unit = unit(i).name;
    const Made good = bench_.workshop().raw_object(unit(i), settings_.good);
    const Made bad = bench_.workshop().raw_object(unit(i), settings_.bad);
    out.good_code = code_hash(good.file);
    out.bad_code = code_hash(bad.file);
    if (unit(i).cuda) {
      out.functions_note = "a CUDA unit; functions are mixed by symbol on the host alone";
      add_device_code(out, unit(i));
      return out;
    }
    const std::vector<std::string> names = functions_in_both(good.file, bad.file);
    const auto with = [&](const Set& chosen) {
      std::vector<std::string> from_bad;
      for (const std::size_t f : chosen) from_bad.push_back(names[f]);
      const Made mixed = bench_.workshop().mixed(good.file, bad.file, from_bad);
      const Made unit_object = mixed.good() ? bench_.workshop().localised(mixed.file) : mixed;
      if (!unit_object.good()) return Answer::untestable;
      std::vector<fs::path> objects = bench_.objects(units);
      objects[i] = unit_object.file;
      return bench_.see(objects).answer;
    };
    const Found found = find_minimal_sets(names.size(), with);
    std::vector<std::string> blamed;
    for (const Set& set : found.minimal) {
      out.functions.emplace_back();
      for (const std::size_t f : set) {
        out.functions.back().push_back(demangled(names[f]));
        blamed.push_back(names[f]);
      }
    }
    if (found.minimal.empty()) {
      out.functions_note = fmt::format(
          "of the {} functions with a symbol none brings it: it lies in code that only this "
          "file sees, or in data",
          names.size());
    }
    out.instructions = instruction_difference(good.file, bad.file, blamed);
    return out;
  }

  const Settings& settings_;
  Bench bench_;
  Set suspects_;
  Result result_;
};

}  // namespace

Result bisect(const Settings& settings) { return Bisection(settings).run(); }

}  // namespace nbx::reports::bisect
