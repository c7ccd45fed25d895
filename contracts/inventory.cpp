#include "contracts/inventory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "contracts/gates/clause.hpp"

namespace nbx::contracts {
namespace {

bool is_clause(const std::string& id) {
  const auto named = [&](const auto& clause) { return clause.id == id; };
  return std::any_of(clauses().begin(), clauses().end(), named) ||
         std::any_of(call_clauses().begin(), call_clauses().end(), named);
}

void add_kernels(Inventory& inventory, std::size_t pack, bool named, const std::string& device) {
  const PackInfo& info = inventory.packs[pack].info;
  const char* kind = info.device.device_type == kDLCUDA ? "cuda" : "cpu";
  const bool selected = device.empty() || device == kind;
  for (const KernelInfo& kernel : info.kernels) {
    const Family* family = family_named(kernel.family);
    if (!family) {
      const std::string text = fmt::format("{}: {} is of family '{}', for which there is no contract", info.name,
                                           kernel.name, kernel.family);
      (named ? inventory.errors : inventory.notes).push_back(text);
      continue;
    }
    for (const EqualityInfo& equality : kernel.equalities)
      if (!is_clause(equality.clause))
        inventory.errors.push_back(fmt::format("{}: {} speaks of '{}', which is no clause; `list clauses` has them",
                                               info.name, kernel.name, equality.clause));
    const Inventory::Entry* other = inventory.partner(pack, kernel.name);
    if (named && other && other->pack != pack) {
      inventory.errors.push_back(
          fmt::format("{}: pack {} has a kernel of that name already; a case's name is one "
                      "kernel's, so this one did not run",
                      kernel.name, inventory.packs[other->pack].info.name));
      continue;
    }
    (kernel.control ? inventory.controls : inventory.honest).push_back({pack, &kernel, family, selected});
  }
}

}  // namespace

std::unique_ptr<Inventory> open_packs(const RunOptions& options) {
  auto inventory = std::make_unique<Inventory>();
  const auto open = [&](const std::filesystem::path& file, bool named) {
    Executor executor(file, {.timeout = options.timeout});
    PackError error;
    PackResult result;
    result.file = file.string();
    if (auto info = executor.open(&error)) {
      result.name = info->name;
      result.device = info->device_name;
      result.imitates = info->imitates;
      result.toolchain = info->toolchain;
      result.flags = info->flags;
      inventory->packs.push_back({file, std::move(*info)});
    } else {
      result.name = file.stem().string();
      // Of the build's packs the CUDA one alone may be idle: without a device.
      if (named || file.stem() != "cuda")
        result.error = error.reason;
      else
        inventory->notes.push_back(fmt::format("pack {}: {}", result.name, error.reason));
    }
    if (result.error.empty() && result.toolchain.empty() && !named) return;
    inventory->results.push_back(std::move(result));
  };
  for (const auto& file : options.packs) open(file, false);
  const std::size_t own = inventory->packs.size();
  for (const auto& file : options.named_packs) open(file, true);
  for (std::size_t i = 0; i < inventory->packs.size(); ++i) add_kernels(*inventory, i, i >= own, options.device);
  return inventory;
}

const Inventory::Entry* Inventory::find(const std::string& kernel) const {
  for (const auto* list : {&honest, &controls})
    for (const Entry& entry : *list)
      if (entry.kernel->name == kernel) return &entry;
  return nullptr;
}

const Inventory::Entry* Inventory::partner(std::size_t pack, const std::string& kernel) const {
  const Entry* other = nullptr;
  for (const Entry& entry : honest) {
    if (entry.kernel->name != kernel) continue;
    if (entry.pack == pack) return &entry;
    if (packs[entry.pack].info.device.device_type == packs[pack].info.device.device_type) other = &entry;
  }
  return other;
}

const Inventory::Entry* Inventory::twin(const Entry& entry) const {
  const std::string& name = entry.kernel->control ? entry.kernel->control->mutates : entry.kernel->name;
  for (const Entry& other : honest)
    if (other.kernel->name == name &&
        packs[other.pack].info.device.device_type != packs[entry.pack].info.device.device_type)
      return &other;
  return nullptr;
}

Children::Children(const Inventory& inventory, std::chrono::milliseconds timeout)
    : inventory_(inventory), timeout_(timeout), executors_(inventory.packs.size()) {}

Executor& Children::of(std::size_t pack) {
  auto& executor = executors_[pack];
  if (!executor)
    executor = std::make_unique<Executor>(inventory_.packs[pack].file, Executor::Options{.timeout = timeout_});
  return *executor;
}

}  // namespace nbx::contracts
