// What a run will do: tasks, each a problem in one format with all that is asked of it, so that its inputs and the
// oracle's answer are made once.
#pragma once

#include <vector>

#include "contracts/gates/clause.hpp"
#include "contracts/inventory.hpp"

namespace nbx::contracts {

/// A kernel before a problem, and which clauses it is asked.
struct Assignment {
  const Inventory::Entry* entry = nullptr;
  std::vector<const Clause*> clauses;
};

struct Task {
  const Family* family = nullptr;
  std::size_t problem = 0;
  DLDataType format{};
  std::vector<Assignment> honest, controls;
  std::vector<const Inventory::Entry*> power_of;
  std::int64_t work = 0;
};

/// Gate 4: a kernel and the calls of its family that it must refuse or do right.
struct CallTask {
  const Inventory::Entry* entry = nullptr;
  std::vector<std::string> clauses;
};

struct Plan {
  std::vector<Task> tasks;  // dearest first
  std::vector<CallTask> call_tasks;
  std::vector<const Inventory::Entry*> judged_controls;  // whose verdict this run gives
  std::vector<std::string> unmatched;                    // patterns that selected nothing
};

Plan make_plan(const Inventory& inventory, const RunOptions& options);

inline constexpr std::string_view power_clause = "gate1.power";

}  // namespace nbx::contracts
