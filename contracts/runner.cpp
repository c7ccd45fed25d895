#include "contracts/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "contracts/code_evidence.hpp"
#include "contracts/collector.hpp"
#include "contracts/pattern.hpp"
#include "contracts/task.hpp"

namespace nbx::contracts {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::vector<std::string> all_names(const Inventory& inventory) {
  std::vector<std::string> names{std::string(power_clause)};
  for (const auto* list : {&inventory.honest, &inventory.controls})
    for (const Inventory::Entry& entry : *list) names.push_back(entry.kernel->name);
  for (const Clause& clause : clauses()) names.emplace_back(clause.id);
  for (const CallClause& clause : call_clauses()) names.emplace_back(clause.id);
  for (const Family* family : families()) names.emplace_back(family->name());
  return names;
}

}  // namespace

RunResult run(const RunOptions& options, const std::function<void(const Progress&)>& progress,
              const std::atomic<bool>& stop) {
  const auto start = Clock::now();
  const auto inventory = open_packs(options);
  const Plan plan = make_plan(*inventory, options);
  Collector collector(*inventory, options);
  Records records = options.records.empty() ? Records{} : Records::load(options.records);
  for (const std::string& error : records.errors()) collector.add_error(error);
  const std::vector<std::string> of_code = compare_code(records, *inventory, options);
  for (const std::string& error : inventory->errors) collector.add_error(error);

  const std::size_t total = plan.tasks.size() + plan.call_tasks.size();
  std::atomic<std::size_t> next{0}, done{0};
  std::atomic<bool> halt{false};
  const auto work = [&] {
    Children children(*inventory, options.timeout);
    const TaskContext context{*inventory, options,  records,
                              collector,  children, [&] { return stop.load() || halt.load(); }};
    for (std::size_t i = next++; i < total && !context.stopped(); i = next++) {
      try {
        if (i < plan.tasks.size())
          run_task(context, plan.tasks[i]);
        else
          run_call_task(context, plan.call_tasks[i - plan.tasks.size()]);
      } catch (const std::exception& error) {
        collector.add_error(error.what());
      }
      ++done;
      if (options.fail_fast && collector.reds() > 0) halt = true;
    }
  };
  const std::size_t wanted =
      options.jobs > 0 ? static_cast<std::size_t>(options.jobs) : std::max(1u, std::thread::hardware_concurrency());
  const std::size_t jobs = std::min(std::max<std::size_t>(total, 1), wanted);
  std::atomic<std::size_t> running{jobs};
  std::vector<std::thread> threads;
  for (std::size_t j = 0; j < jobs; ++j)
    threads.emplace_back([&] {
      work();
      --running;
    });
  while (running > 0) {
    if (progress)
      progress({.done = static_cast<std::int64_t>(done.load()),
                .total = static_cast<std::int64_t>(total),
                .red = collector.reds(),
                .current = {}});
    std::this_thread::sleep_for(std::chrono::milliseconds(running > 0 ? 20 : 0));
  }
  for (std::thread& thread : threads) thread.join();
  const bool complete = done == total && !stop && !halt;
  RunResult result = collector.result(plan, complete);
  result.interrupted = stop;
  result.notes.insert(result.notes.end(), of_code.begin(), of_code.end());
  if (options.tier == Tier::quick) result.notes.emplace_back("--quick runs no controls and no power clause");
  result.seconds = since(start);
  return result;
}

Listing list(const RunOptions& options) {
  const auto inventory = open_packs(options);
  Listing listing;
  listing.packs = inventory->results;
  const auto chosen = [&](const std::string& name) {
    return options.patterns.empty() || std::any_of(options.patterns.begin(), options.patterns.end(),
                                                   [&](const std::string& p) { return selects(p, name); });
  };
  for (const Inventory::Entry& entry : inventory->honest) {
    if (!entry.selected || !chosen(entry.kernel->name)) continue;
    const PackInfo& pack = inventory->packs[entry.pack].info;
    Listing::Kernel kernel{entry.kernel->name,
                           pack.name,
                           std::string(entry.family->name()),
                           pack.device.device_type == kDLCUDA ? "cuda" : "cpu",
                           {},
                           {}};
    for (const AxisInfo& axis : entry.kernel->axes)
      if (!axis.clause.empty()) kernel.promises.push_back(fmt::format("{} along {}", axis.clause, axis.option));
    for (const EqualityInfo& equality : entry.kernel->equalities) {
      const std::string name = equality.clause + (equality.other.empty() ? "" : " with " + equality.other);
      if (equality.reason.empty())
        kernel.promises.push_back(name);
      else
        kernel.not_promised.push_back(name + ": " + equality.reason);
    }
    listing.kernels.push_back(std::move(kernel));
  }
  std::map<std::string, std::vector<std::string>> families_of_call;
  for (const Family* family : families()) {
    for (const Refusal& refusal : family->refusals({kDLFloat, 32, 1}, options.seed)) {
      auto& list = families_of_call[refusal.clause];
      if (list.empty() || list.back() != family->name()) list.emplace_back(family->name());
    }
    for (const ProblemInfo& problem : family->problems())
      listing.problems.push_back({std::string(family->name()), problem.name,
                                  problem.tier == Tier::quick  ? "quick"
                                  : problem.tier == Tier::full ? "full"
                                                               : "default"});
  }
  const std::string families_text = "all";
  for (const Clause& clause : clauses())
    if (chosen(std::string(clause.id)))
      listing.clauses.push_back({std::string(clause.id),
                                 std::string(clause.sentence),
                                 std::string(clause.source),
                                 clause.equality ? "default, on small problems" : "default",
                                 {families_text}});
  listing.clauses.push_back({std::string(power_clause),
                             "every mutant is seen by some problem of each size",
                             "an input that cannot see proves nothing",
                             "default",
                             {families_text}});
  for (const CallClause& clause : call_clauses())
    if (chosen(std::string(clause.id)))
      listing.clauses.push_back({std::string(clause.id), std::string(clause.sentence), std::string(clause.source),
                                 "default", families_of_call[std::string(clause.id)]});
  for (const Inventory::Entry& entry : inventory->controls) {
    const ControlInfo& control = *entry.kernel->control;
    if (entry.selected && (chosen(entry.kernel->name) || chosen(control.mutates)))
      listing.controls.push_back(
          {entry.kernel->name, control.mutates, control.planted, control.verdict, control.red_at});
  }
  return listing;
}

std::vector<PowerResult> power(const RunOptions& options) {
  RunOptions only = options;
  const auto inventory = open_packs(only);
  Plan plan = make_plan(*inventory, only);
  Collector collector(*inventory, only);
  Children children(*inventory, only.timeout);
  const Records none;
  const TaskContext context{*inventory, only, none, collector, children, [] { return false; }};
  for (Task& task : plan.tasks) {
    task.honest.clear();
    task.controls.clear();
    if (!task.power_of.empty()) run_task(context, task);
  }
  return collector.result(plan, true).power;
}

std::vector<std::string> nearest(const RunOptions& options, const std::string& pattern) {
  const auto inventory = open_packs(options);
  return nearest_names(pattern.substr(0, pattern.find_first_of("/(")), all_names(*inventory));
}

Explanation explain(const RunOptions& options, const std::string& name) {
  Explanation explanation;
  const auto inventory = open_packs(options);
  const std::size_t slash = name.find('/'), open = name.find('(', slash == std::string::npos ? 0 : slash);
  const bool shaped = slash != std::string::npos && open != std::string::npos && name.ends_with(")");
  const std::string kernel = name.substr(0, slash);
  const Inventory::Entry* entry = nullptr;
  for (const auto* list : {&inventory->honest, &inventory->controls})
    for (const Inventory::Entry& one : *list)
      if (one.selected && one.kernel->name == kernel && !entry) entry = &one;
  const std::string clause = shaped ? name.substr(slash + 1, open - slash - 1) : "";
  const std::string problem = shaped ? name.substr(open + 1, name.size() - open - 2) : "";
  Collector collector(*inventory, options);
  Children children(*inventory, options.timeout);
  Records records = options.records.empty() ? Records{} : Records::load(options.records);
  compare_code(records, *inventory, options);
  const TaskContext context{*inventory, options, records, collector, children, [] { return false; }};
  if (entry && shaped) explanation.found = explain_case(context, *entry, clause, problem, explanation);
  if (!explanation.found) {
    std::vector<std::string> names;
    if (entry && shaped) {
      for (const ProblemInfo& info : entry->family->problems())
        names.push_back(fmt::format("{}/{}({})", kernel, clause, info.name));
      explanation.nearest = nearest_names(name, std::move(names));
    } else {
      explanation.nearest = nearest_names(kernel, all_names(*inventory));
    }
  }
  return explanation;
}

}  // namespace nbx::contracts
