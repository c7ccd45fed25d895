#include "contracts/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "contracts/formats.hpp"
#include "contracts/pattern.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts {
namespace {

/// Gates 2-3 and controls run on problems up to this many multiply-adds, unless --full.
constexpr std::int64_t equality_limit = std::int64_t{1} << 22;

class Planner {
 public:
  Planner(const Inventory& inventory, const RunOptions& options)
      : inventory_(inventory), options_(options), only_(options.only_cases.begin(), options.only_cases.end()) {}

  Plan plan() {
    for (const Inventory::Entry& entry : inventory_.honest)
      if (entry.selected) add_honest(entry);
    if (options_.tier != Tier::quick && options_.gate == 0 && only_.empty())
      for (const Inventory::Entry& entry : inventory_.controls)
        if (entry.selected) add_control(entry);
    for (auto& [key, task] : tasks_) plan_.tasks.push_back(std::move(task));
    std::stable_sort(plan_.tasks.begin(), plan_.tasks.end(),
                     [](const Task& a, const Task& b) { return a.work > b.work; });
    for (const std::string& pattern : options_.patterns)
      if (!matched_.contains(pattern)) plan_.unmatched.push_back(pattern);
    return std::move(plan_);
  }

 private:
  bool wanted(std::string_view kernel, std::string_view clause, std::string_view problem) {
    if (!only_.empty()) return only_.contains(fmt::format("{}/{}({})", kernel, clause, problem));
    if (options_.patterns.empty()) return true;
    bool any = false;
    for (const std::string& pattern : options_.patterns)
      if (selects_case({pattern}, kernel, clause, problem)) {
        matched_.insert(pattern);
        any = true;
      }
    return any;
  }

  bool gate_selected(int gate) const { return options_.gate == 0 || options_.gate == gate; }
  bool in_shard(std::string_view name) const {
    return options_.shards <= 1 ||
           static_cast<int>(hash_text(name) % static_cast<std::uint64_t>(options_.shards)) == options_.shard - 1;
  }

  bool in_tier(const ProblemInfo& problem) const { return problem.tier <= options_.tier; }

  static bool asked(const Clause& clause, const ProblemInfo& problem, bool full) {
    if (!clause.equality) return true;
    return problem.equality && (full || problem.work <= equality_limit);
  }

  Task& task(const Family& family, std::size_t problem, DLDataType format) {
    const auto key = std::make_tuple(std::string(family.name()), problem, type_name(format));
    auto [at, fresh] = tasks_.try_emplace(key);
    if (fresh) {
      at->second.family = &family;
      at->second.problem = problem;
      at->second.format = format;
    }
    return at->second;
  }

  /// Clause and name of each refusal and edge, made once for all kernels of a family and format.
  const std::vector<std::pair<std::string, std::string>>& calls_of(const Family& family, DLDataType format) {
    const auto [at, fresh] = calls_.try_emplace({std::string(family.name()), type_name(format)});
    if (fresh) {
      for (const Refusal& refusal : family.refusals(format, options_.seed))
        at->second.emplace_back(refusal.clause, refusal.name);
      for (const Edge& edge : family.edges(format, options_.seed)) at->second.emplace_back(edge.clause, edge.name);
    }
    return at->second;
  }

  void add_honest(const Inventory::Entry& entry) {
    const KernelInfo& kernel = *entry.kernel;
    const PackInfo& pack = inventory_.packs[entry.pack].info;
    const auto problems = entry.family->problems();
    std::set<std::string> kinds;  // --quick: the first problem of each kind
    for (std::size_t p = 0; p < problems.size(); ++p) {
      const ProblemInfo& problem = problems[p];
      if (!in_tier(problem)) continue;
      if (options_.tier == Tier::quick && !kinds.insert(problem.kind + (problem.equality ? "+" : "")).second) continue;
      Assignment assignment{.entry = &entry, .clauses = {}};
      for (const Clause& clause : clauses())
        if (gate_selected(clause.gate) && clause.applies(kernel, pack) &&
            asked(clause, problem, options_.tier == Tier::full) && in_shard(problem.name) &&
            wanted(kernel.name, clause.id, problem.name))
          assignment.clauses.push_back(&clause);
      const bool power = problem.size_class > 0 && options_.tier != Tier::quick && gate_selected(1) &&
                         options_.shard == 1 && only_.empty() && wanted(kernel.name, power_clause, problem.name);
      if (assignment.clauses.empty() && !power) continue;
      Task& to = task(*entry.family, p, kernel.format);
      if (power) to.power_of.push_back(&entry);
      to.work += problem.work * static_cast<std::int64_t>(1 + 4 * assignment.clauses.size());
      if (!assignment.clauses.empty()) to.honest.push_back(std::move(assignment));
    }
    CallTask calls{.entry = &entry, .clauses = {}};
    if (gate_selected(4) && in_shard(kernel.name)) {
      std::set<std::string> ids;
      const auto consider = [&](const std::string& clause, const std::string& name) {
        if (wanted(kernel.name, clause, name)) ids.insert(clause);
      };
      for (const auto& [clause, name] : calls_of(*entry.family, kernel.format)) consider(clause, name);
      calls.clauses.assign(ids.begin(), ids.end());
    }
    if (!calls.clauses.empty()) plan_.call_tasks.push_back(std::move(calls));
  }

  /// A control is judged whole or not at all: selected by its own name or by the kernel that it mutates.
  void add_control(const Inventory::Entry& entry) {
    const KernelInfo& kernel = *entry.kernel;
    const ControlInfo& control = *kernel.control;
    if (!in_shard(kernel.name)) return;
    if (!options_.patterns.empty()) {
      bool any = false;
      for (const std::string& pattern : options_.patterns)
        if (selects(pattern, kernel.name) || selects(pattern, control.mutates)) {
          matched_.insert(pattern);
          any = true;
        }
      if (!any) return;
    }
    plan_.judged_controls.push_back(&entry);
    const auto named = [&](std::string_view id) {
      return std::find(control.red_at.begin(), control.red_at.end(), id) != control.red_at.end();
    };
    int last_gate = 0;
    CallTask calls{.entry = &entry, .clauses = {}};
    for (const std::string& id : control.red_at) {
      last_gate = std::max(last_gate, id.size() > 4 ? id[4] - '0' : 0);
      if (id.starts_with("gate4")) calls.clauses.push_back(id);
    }
    const bool harmless = !control.verdict.empty();
    const PackInfo& pack = inventory_.packs[entry.pack].info;
    const auto problems = entry.family->problems();
    for (std::size_t p = 0; p < problems.size(); ++p) {
      const ProblemInfo& problem = problems[p];
      if (problem.tier == Tier::full) continue;
      if (control.problems.empty()) {
        if (problem.tier != Tier::quick) continue;
      } else if (std::none_of(control.problems.begin(), control.problems.end(),
                              [&](const std::string& pattern) { return glob(pattern, problem.name); })) {
        continue;
      }
      Assignment assignment{.entry = &entry, .clauses = {}};
      for (const Clause& clause : clauses()) {
        const bool earlier = clause.gate < last_gate || harmless;
        if ((earlier && clause.applies(kernel, pack)) || named(clause.id))
          if (asked(clause, problem, false)) assignment.clauses.push_back(&clause);
      }
      if (assignment.clauses.empty()) continue;
      Task& to = task(*entry.family, p, kernel.format);
      to.work += problem.work * static_cast<std::int64_t>(1 + 2 * assignment.clauses.size());
      to.controls.push_back(std::move(assignment));
    }
    if (!calls.clauses.empty()) plan_.call_tasks.push_back(std::move(calls));
  }

  const Inventory& inventory_;
  const RunOptions& options_;
  std::set<std::string> only_, matched_;
  std::map<std::tuple<std::string, std::size_t, std::string>, Task> tasks_;
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<std::string, std::string>>> calls_;
  Plan plan_;
};

}  // namespace

Plan make_plan(const Inventory& inventory, const RunOptions& options) { return Planner(inventory, options).plan(); }

}  // namespace nbx::contracts
