// What object files show of a difference.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nbx::reports::bisect {

/// A hash of an object's machine code and data: of what is loaded, without names of symbols and sections.
std::string code_hash(const std::filesystem::path& object);

/// The functions that both objects define for others to see, by symbol.
std::vector<std::string> functions_in_both(const std::filesystem::path& good, const std::filesystem::path& bad);

/// How the instructions differ, in the functions named or, with none, in the whole object:
/// "41 to 38 instructions: 3 fewer divss, 2 more mulss, 2 fewer movaps". By objdump; empty where it is not here.
std::string instruction_difference(const std::filesystem::path& good, const std::filesystem::path& bad,
                                   const std::vector<std::string>& functions);

/// A symbol as it was written: "nbx::softmax::run(int)".
std::string demangled(const std::string& symbol);

}  // namespace nbx::reports::bisect
