// What a pack is built from: its translation units, and the command of each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/toolchains/toolchain.hpp"

namespace nbx::reports::bisect {

struct Unit {
  std::string name;                    // its file, from the folder that all units share: "math/math.simt.f32.cpp"
  std::filesystem::path file, folder;  // the source; where its command runs
  std::vector<std::string> command;    // words; without the object and without warnings turned into errors
  std::filesystem::path object{};      // where the build has its object; empty: its command does not say
  bool cuda = false;
};

struct PackUnits {
  std::vector<Unit> units;
  std::vector<std::string> link;  // what linking takes beside the objects
};

/// Reads what a pack names as its compile_commands, a file of either kind:
///
/// - compile_commands.json, the list that CMake, Meson, Bear and others write: every entry is a unit of the pack;
/// - an object {"compile_commands": FILE, "objects": [OBJECT...], "link": [WORD...]}: of that list only the entries
/// that
///   make these objects, and what else linking takes.
///
/// Throws std::runtime_error with the reason.
PackUnits read_units(const std::filesystem::path& file);

/// The words that compile `unit` with `toolchain`, up to what is to be made of it: no -c and no -o.
/// `more` stands behind all others.
std::vector<std::string> compile_words(const Unit& unit, const Toolchain& toolchain,
                                       const std::vector<std::string>& more = {});

}  // namespace nbx::reports::bisect
