// Compiles kernels for the record alone: each unit for each architecture, in parallel, cached by content.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "contracts/codegen/record.hpp"

namespace nbx::contracts::codegen {

/// The architectures that CI holds. The record is of every one that the compiler knows, from sm_80 on, the first with
/// bf16 and m16n8k16.
inline constexpr const char* held_architectures[] = {"sm_80", "sm_90", "sm_120"};
inline constexpr int least_architecture = 80;

/// A kernel and the translation unit that holds its device code, the end of its path
/// ("kernels/math/math.simt.f16.cpp").
struct Unit {
  std::string kernel, unit;
};

struct BuildOptions {
  std::filesystem::path commands;          // compile_commands.json of a build with CUDA units
  std::filesystem::path cache;             // a folder; it holds the cubin, PTX and log of each unit and architecture
  std::string nvcc;                        // in place of the commands' own; empty: theirs
  std::vector<std::string> architectures;  // empty: every one that the compiler knows
  int jobs = 0;                            // 0: the number of cores
};

struct Build {
  Record record;
  std::vector<std::string> errors;   // units that did not compile, with what the compiler said
  std::vector<std::string> unknown;  // architectures that this compiler does not know
  std::int64_t compiled = 0, cached = 0;
};

/// Throws std::runtime_error where there are no commands for CUDA units, or no compiler.
Build build(const std::vector<Unit>& units, const BuildOptions& options, const std::atomic<bool>& stop);

}  // namespace nbx::contracts::codegen
