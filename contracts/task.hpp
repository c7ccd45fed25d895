// One task of a run: make the problem, ask the oracle, let every kernel and control of it run, judge.
#pragma once

#include <functional>

#include "contracts/collector.hpp"
#include "contracts/records.hpp"

namespace nbx::contracts {

struct TaskContext {
  const Inventory& inventory;
  const RunOptions& options;
  const Records& records;
  Collector& collector;
  Children& children;  // this thread's
  std::function<bool()> stopped;
};

void run_task(const TaskContext& context, const Task& task);
void run_call_task(const TaskContext& context, const CallTask& task);

/// One case again, told in full. False where the kernel's family has no such clause or problem.
bool explain_case(const TaskContext& context, const Inventory::Entry& entry, const std::string& clause,
                  const std::string& problem, Explanation& explanation);

}  // namespace nbx::contracts
