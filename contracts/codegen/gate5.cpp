#include "contracts/codegen/gate5.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include "contracts/codegen/difference.hpp"
#include "contracts/inventory.hpp"
#include "contracts/pattern.hpp"

namespace nbx::contracts::codegen {
namespace {

constexpr const char* resources_clause = "gate5.resources";
constexpr const char* code_clause = "gate5.code";

CaseResult case_of(const std::string& kernel, const char* clause, const std::string& architecture,
                   const Compiler& compiler) {
  CaseResult one;
  one.kernel = kernel;
  one.clause = clause;
  one.problem = architecture + "," + compiler.device;
  return one;
}

void turn_red(CaseResult& one, std::vector<std::pair<std::string, std::string>> lines) {
  one.state = State::red;
  one.red = Red{};
  one.red->clause_sentence = "the compiler spends on a kernel what its record and its limits say";
  one.red->lines = std::move(lines);
  one.red->again = fmt::format("./nbx-contract run --gate 5 {}", one.kernel);
}

/// "registers 48 where at most 40 are accepted"; empty: within the limits.
std::string over_limit(const Function& function, const nbx_limits& limits) {
  struct Limit {
    const char* name;
    std::int64_t value, most;
  };
  // 0 registers or shared bytes: free.
  const Limit all[] = {{"registers", function.registers, limits.registers},
                       {"stack", function.stack, limits.stack_bytes},
                       {"spill_stores", function.spill_stores, limits.spill_bytes},
                       {"spill_loads", function.spill_loads, limits.spill_bytes},
                       {"shared", function.shared, limits.shared_bytes}};
  for (const Limit& limit : all) {
    const bool is_free = limit.most == 0 && (limit.name == all[0].name || limit.name == all[4].name);
    if (!is_free && limit.value > limit.most) {
      return fmt::format("{} {} where the kernel's limit is {}", limit.name, limit.value, limit.most);
    }
  }
  return {};
}

/// Every resource that differs, function by function: name, what is recorded, what is now.
std::vector<std::pair<std::string, std::string>> differences(const Code& kept, const Code& now) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const FunctionDifference& one : difference(kept, now).functions) {
    using Kind = FunctionDifference::Kind;
    if (!one.resources_differ()) continue;
    lines.emplace_back("function", one.function + (one.kind == Kind::gone    ? " is recorded and no longer there"
                                                   : one.kind == Kind::added ? " is new"
                                                                             : ""));
    if (one.kind == Kind::changed) lines.emplace_back("changed", resources_text(one));
  }
  return lines;
}

CaseResult judge_resources(const std::string& kernel, const std::string& architecture, const nbx_limits& limits,
                           const Compiler& compiler, const Code& now, const Code* kept) {
  CaseResult one = case_of(kernel, resources_clause, architecture, compiler);
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [name, function] : now.functions) {
    if (const std::string over = over_limit(function, limits); !over.empty()) {
      lines.emplace_back("wrong", over);
      lines.emplace_back("function", name);
    }
  }
  if (kept != nullptr) {
    const auto changed = differences(*kept, now);
    if (!changed.empty())
      lines.emplace_back("wrong", fmt::format("other resources than recorded for {}", compiler.name()));
    lines.insert(lines.end(), changed.begin(), changed.end());
  }
  if (!lines.empty()) {
    turn_red(one, std::move(lines));
  } else if (kept == nullptr) {
    one.state = State::pending;
    one.reason = fmt::format("no codegen record of this kernel for {} by {}", architecture, compiler.name());
  }
  return one;
}

CaseResult judge_code(const std::string& kernel, const std::string& architecture, const Compiler& compiler,
                      const Code& now, const Code* kept) {
  CaseResult one = case_of(kernel, code_clause, architecture, compiler);
  if (kept == nullptr) {
    one.state = State::pending;
    one.reason = fmt::format("no codegen record of this kernel for {} by {}", architecture, compiler.name());
    return one;
  }
  for (const auto& [name, function] : now.functions) {
    const auto found = kept->functions.find(name);
    const bool same = found != kept->functions.end() && found->second.machine_code == function.machine_code;
    if (same) continue;
    one.state = State::stale;
    one.reason = fmt::format("the machine code is not the recorded one ({}), so evidence of devices is of other code",
                             kept->ptx == now.ptx ? "from the same PTX" : "from other PTX");
    return one;
  }
  return one;
}

}  // namespace

nbx_limits default_limits() { return {sizeof(nbx_limits), 0, 0, 0, 0}; }

std::vector<CaseResult> judge(const std::string& kernel, const nbx_limits& limits, const Record& now,
                              const Record* kept) {
  std::vector<CaseResult> cases;
  const auto built = now.kernels.find(kernel);
  if (built == now.kernels.end()) return cases;
  for (const auto& [architecture, code] : built->second) {
    const Code* before = nullptr;
    if (kept != nullptr) {
      const auto of_kernel = kept->kernels.find(kernel);
      if (of_kernel != kept->kernels.end()) {
        const auto of_architecture = of_kernel->second.find(architecture);
        if (of_architecture != of_kernel->second.end()) before = &of_architecture->second;
      }
    }
    cases.push_back(judge_resources(kernel, architecture, limits, now.compiler, code, before));
    cases.push_back(judge_code(kernel, architecture, now.compiler, code, before));
  }
  return cases;
}

namespace {

struct Selected {
  std::vector<Unit> units;
  std::map<std::string, nbx_limits> limits;
};

Selected select(const RunOptions& options, const Inventory& inventory) {
  Selected out;
  for (const Inventory::Entry& entry : inventory.honest) {
    const KernelInfo& kernel = *entry.kernel;
    const bool wanted = selects_case(options.patterns, kernel.name, resources_clause, "") ||
                        selects_case(options.patterns, kernel.name, code_clause, "");
    if (!wanted || kernel.unit.empty() || out.limits.contains(kernel.name)) continue;
    out.units.push_back({kernel.name, kernel.unit});
    out.limits[kernel.name] = kernel.limits ? *kernel.limits : default_limits();
  }
  return out;
}

Build build_selected(const Selected& selected, const RunOptions& options, const Places& places,
                     std::vector<std::string> architectures, const std::atomic<bool>& stop) {
  return build(selected.units, {places.commands, places.cache, places.nvcc, std::move(architectures), options.jobs},
               stop);
}

}  // namespace

Build build_kernels(const RunOptions& options, const Places& places, std::vector<std::string> architectures,
                    const std::atomic<bool>& stop) {
  const auto inventory = open_packs(options);
  return build_selected(select(options, *inventory), options, places, std::move(architectures), stop);
}

RunResult run_gate5(const RunOptions& options, const Places& places, const std::atomic<bool>& stop) {
  const auto start = std::chrono::steady_clock::now();
  RunResult result;
  result.seed = options.seed;
  result.tier = options.tier == Tier::quick ? "quick" : options.tier == Tier::full ? "full" : "default";
  result.command = options.command;
  result.codegen = "no kernel";
  const auto inventory = open_packs(options);
  result.packs = inventory->results;
  result.harness_errors = inventory->errors;
  const Selected selected = select(options, *inventory);
  if (selected.units.empty()) {
    result.unmatched = options.patterns;
    return result;
  }
  std::vector<std::string> architectures;
  if (options.tier != Tier::full) architectures.assign(std::begin(held_architectures), std::end(held_architectures));
  try {
    const Build built = build_selected(selected, options, places, std::move(architectures), stop);
    result.harness_errors.insert(result.harness_errors.end(), built.errors.begin(), built.errors.end());
    const std::vector<Record> records = read_records(places.records);
    const auto kept = std::find_if(records.begin(), records.end(),
                                   [&](const Record& record) { return record.compiler == built.record.compiler; });
    for (const Unit& unit : selected.units) {
      for (CaseResult& one : judge(unit.kernel, selected.limits.at(unit.kernel), built.record,
                                   kept == records.end() ? nullptr : &*kept)) {
        ++result.cases_run;
        if (one.red && !places.nvcc.empty()) one.red->again += " --nvcc " + places.nvcc;
        if (one.state != State::pass) result.cases.push_back(std::move(one));
      }
    }
    result.codegen_cases = result.cases_run;
    std::set<std::string> known;
    for (const auto& [kernel, codes] : built.record.kernels)
      for (const auto& [architecture, code] : codes) known.insert(architecture);
    result.codegen = fmt::format("{} kernels × {} architectures by {}", built.record.kernels.size(), known.size(),
                                 built.record.compiler.name());
    result.notes.push_back(fmt::format("{} units compiled, {} as cached", built.compiled, built.cached));
    for (const std::string& one : built.unknown) {
      result.notes.push_back(fmt::format("{} does not know {}", built.record.compiler.device, one));
    }
  } catch (const std::exception& error) {
    result.harness_errors.push_back(error.what());
  }
  result.interrupted = stop;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace nbx::contracts::codegen
