#include "contracts/code_evidence.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "contracts/codegen/pack_code.hpp"

namespace nbx::contracts {
namespace {

/// Of every honest kernel in any pack; the kernels of a pack that has no device here stand in that of the host.
std::map<std::string, std::string> units_of(const Inventory& inventory) {
  std::map<std::string, std::string> units;
  for (const Inventory::Entry& entry : inventory.honest) {
    if (!entry.kernel->unit.empty()) units.try_emplace(entry.kernel->name, entry.kernel->unit);
  }
  return units;
}

std::string some_of(const std::set<std::string>& names) {
  constexpr std::size_t shown = 3;
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (count++ == shown) return text + ", …";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace

std::map<std::string, std::uint64_t> kernel_code(const std::filesystem::path& pack, const std::string& architecture,
                                                 const std::map<std::string, std::string>& wanted) {
  const codegen::PackCode units = codegen::pack_code(pack, architecture);
  std::map<std::string, std::uint64_t> code;
  for (const auto& [kernel, unit] : wanted) {
    if (const auto found = units.find(codegen::unit_stem(unit)); found != units.end()) code[kernel] = found->second;
  }
  return code;
}

std::vector<std::string> compare_code(Records& records, const Inventory& inventory, const RunOptions& options) {
  std::vector<std::string> notes;
  const std::map<std::string, std::string> units = units_of(inventory);
  std::vector<std::filesystem::path> packs = options.packs;
  packs.insert(packs.end(), options.named_packs.begin(), options.named_packs.end());
  for (std::size_t i = 0; i < records.all().size(); ++i) {
    const Record& record = records.all()[i];
    const auto unknown = [&](const std::string& why) {
      notes.push_back(
          fmt::format("record of {}: {}: whether its bits are of today's code is not known", record.device, why));
    };
    if (record.machine_code.empty()) {
      unknown("it names no machine code");
      continue;
    }
    std::map<std::string, std::uint64_t> today;
    std::string trouble;
    for (const std::filesystem::path& pack : packs) {
      try {
        today.merge(kernel_code(pack, record.architecture, units));
      } catch (const std::exception& error) {
        trouble = error.what();
      }
    }
    std::set<std::string> other;
    std::size_t held = 0;
    for (const auto& [kernel, code] : record.machine_code) {
      const auto now = today.find(kernel);
      if (now == today.end()) continue;
      ++held;
      if (now->second != code) other.insert(kernel);
    }
    if (!trouble.empty()) {
      unknown(trouble);
    } else if (held == 0) {
      unknown(fmt::format("no pack here holds its kernels' code for {}", record.architecture));
    }
    if (!other.empty()) {
      notes.push_back(
          fmt::format("record of {}: {} of {} kernels have other machine code today ({}): their evidence is "
                      "stale until it is recorded again there",
                      record.device, other.size(), held, some_of(other)));
    }
    records.set_other_code(i, std::move(other));
  }
  return notes;
}

}  // namespace nbx::contracts
