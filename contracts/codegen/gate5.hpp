// Gate 5: what the compiler makes of each kernel, held against the record in the repository.
//
//   gate5.resources  registers, shared memory, stack, spills, barriers, parameters and launch bounds are those of the
//                    record of this compiler, and within the kernel's own limits under every compiler; else red
//   gate5.code       the machine code is that of the record; else stale, as device evidence is of other code
//
// A case is kernel x clause x architecture. A compiler without a record is pending.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "contracts/codegen/build.hpp"
#include "contracts/runner.hpp"
#include "kernels/pack/nbx_pack.h"

namespace nbx::contracts::codegen {

/// No stack and no spills, other resources free; what a kernel without limits of its own is held to.
nbx_limits default_limits();

/// The cases of one kernel: what is built now against `kept`, the record of this compiler (null: none).
std::vector<CaseResult> judge(const std::string& kernel, const nbx_limits& limits, const Record& now,
                              const Record* kept);

/// Where a build has what gate 5 needs.
struct Places {
  std::filesystem::path commands;  // compile_commands.json
  std::filesystem::path cache;
  std::filesystem::path records;  // the folder of codegen records
  std::string nvcc;               // in place of the build's own; empty: that
};

/// The kernels of the packs that the patterns select, built for the record: `architectures` empty asks for all that the
/// compiler knows.
Build build_kernels(const RunOptions& options, const Places& places, std::vector<std::string> architectures,
                    const std::atomic<bool>& stop);

/// Builds and judges every selected kernel: for the architectures that CI holds, with the full tier for all that the
/// compiler knows.
RunResult run_gate5(const RunOptions& options, const Places& places, const std::atomic<bool>& stop);

}  // namespace nbx::contracts::codegen
