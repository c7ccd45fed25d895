// The machine code that a built pack holds, unit by unit: what runs where the pack is loaded, whatever the sources have
// become since.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace nbx::contracts::codegen {

/// Hashes of machine code (`machine_code` in code.hpp) by unit: its file's name without the last extension,
/// "math.simt.f16".
using PackCode = std::map<std::string, std::uint64_t>;

/// What `pack`, a shared library that nvcc made, holds for an architecture, "sm_90"; empty where it holds no device
/// code for it, which the driver then compiles from PTX. Functions that several units hold have the same code in each,
/// as the linker lets any one of them run. Throws std::runtime_error, naming the pack, where it cannot be told.
PackCode pack_code(const std::filesystem::path& pack, const std::string& architecture);

/// The unit of a kernel, from the end of its file's path, "kernels/math/math.simt.f16.cpp".
inline std::string unit_stem(std::string_view file) { return std::filesystem::path(file).stem().string(); }

}  // namespace nbx::contracts::codegen
