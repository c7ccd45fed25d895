// The symbols of an object file, and which of two definitions of one name the linker takes.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace nbx::reports::bisect {

/// A symbol that other objects can see (global, weak or unique).
struct Symbol {
  std::string name;
  bool defined = false, function = false;
  bool shared = false;  // other objects may define it too: weak or unique
};

/// Of an ELF64 object. Throws std::runtime_error where it is none.
std::vector<Symbol> symbols_of(const std::filesystem::path& object);

/// The sections that are loaded, each with its name: machine code and data, before relocation.
std::vector<std::string> loaded_content(const std::filesystem::path& object);

/// Copies an object with each defined symbol strong where `strong` says so, else weak. Where two objects define one
/// name, the linker takes the strong definition, and calls in both go there. Empty, or why not.
std::string rebind(const std::filesystem::path& from, const std::filesystem::path& to,
                   const std::function<bool(const Symbol&)>& strong);

}  // namespace nbx::reports::bisect
