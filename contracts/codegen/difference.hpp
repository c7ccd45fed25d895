// What is other between two compilations of a kernel for one architecture.
#pragma once

#include <string>
#include <vector>

#include "contracts/codegen/record.hpp"

namespace nbx::contracts::codegen {

struct FunctionDifference {
  enum class Kind : std::uint8_t { changed, gone, added };
  std::string function;
  Kind kind = Kind::changed;
  struct Resource {
    std::string name;
    std::int64_t before = 0, after = 0;
  };
  std::vector<Resource> resources;                                // those with another value
  std::uint64_t machine_code_before = 0, machine_code_after = 0;  // their hashes
  bool code = false;                                              // other machine code
  std::int64_t code_before = 0, code_after = 0;                   // its bytes
  bool resources_differ() const { return kind != Kind::changed || !resources.empty(); }
};

struct CodeDifference {
  bool ptx = false;                           // other PTX
  std::vector<FunctionDifference> functions;  // by name; those that are the same are left out
  bool differs() const { return ptx || !functions.empty(); }
  bool code_differs() const;  // other machine code, or other functions; other PTX alone is none
};

CodeDifference difference(const Code& before, const Code& after);

/// "registers 48 -> 40, stack 0 -> 8"; empty without.
std::string resources_text(const FunctionDifference& difference);

}  // namespace nbx::contracts::codegen
