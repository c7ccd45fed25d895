// A toolchain: which compilers, with which flags on top of those of a pack's own commands.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nbx::reports {

struct Toolchain {
  std::string name;
  std::string cxx;                     // "g++-12" or a path; empty: the compiler of each command
  std::vector<std::string> cxx_flags;  // added behind the command's own, so that they win
  std::string nvcc;                    // as cxx, for CUDA
  std::vector<std::string> nvcc_flags;
  std::string ptxas;  // in place of nvcc's own
  std::vector<std::string> ptxas_flags;
  /// Flags for some units alone: a pattern with * and ? over the unit's name, or over its end.
  std::map<std::string, std::vector<std::string>> unit_flags;
};

/// The flags that a unit is compiled with on top of its command's own: cxx_flags and those for it alone; of a CUDA unit
/// nvcc_flags, those for it alone, and ptxas_flags, as nvcc takes them.
std::vector<std::string> added_flags(const Toolchain& toolchain, const std::string& unit, bool cuda);

/// From JSON. Throws std::runtime_error that names the key, its value and what is accepted; `from` says where it stood.
Toolchain parse_toolchain(std::string_view text, const std::string& from);
std::string to_json(const Toolchain& toolchain);

/// What --good and --bad take: a file; the name of one in `folder`; or a compiler on this machine ("g++-12", "nvcc" and
/// paths of them). Throws std::runtime_error, with the names that there are, where it is none of these.
Toolchain find_toolchain(const std::string& word, const std::filesystem::path& folder);

/// Every toolchain of a folder, by name.
std::vector<Toolchain> toolchains_in(const std::filesystem::path& folder);

/// What tells a compiler from another one: the file behind `program`, its size and time, and what it says of its
/// version. Empty where there is none.
std::string compiler_identity(const std::string& program);
/// "g++ 12.2.0", "clang 14.0.6", "nvcc 13.0.88", "ptxas 13.0.88": in words.
std::string compiler_version(const std::string& program);

}  // namespace nbx::reports
