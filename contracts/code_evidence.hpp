// Whether the bits that a device gave are of the machine code that today's packs hold.
#pragma once

#include "contracts/inventory.hpp"
#include "contracts/records.hpp"

namespace nbx::contracts {

/// The hash of machine code of each kernel of `pack` that `wanted` names for an architecture, by its unit. Kernels
/// whose unit is not said, or holds no code for it, are left out. Throws std::runtime_error.
std::map<std::string, std::uint64_t> kernel_code(const std::filesystem::path& pack, const std::string& architecture,
                                                 const std::map<std::string, std::string>& wanted);

/// Marks the kernels of `records` whose machine code is another today. Returns what a reader of the run has to know:
/// records of other code, and records of which that cannot be told.
std::vector<std::string> compare_code(Records& records, const Inventory& inventory, const RunOptions& options);

}  // namespace nbx::contracts
