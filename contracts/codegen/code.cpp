#include "contracts/codegen/code.hpp"

#include <fmt/format.h>

#include <regex>
#include <sstream>
#include <stdexcept>

#include "contracts/random.hpp"

namespace nbx::contracts::codegen {

void add_assembler_log(std::string_view log, std::map<std::string, Function>& functions) {
  static const std::regex entry("Compiling entry function '([^']*)'");
  static const std::regex spills("(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads");
  static const std::regex used("Used \\d+ registers(?:, used (\\d+) barriers)?");
  std::istringstream lines{std::string(log)};
  Function* function = nullptr;
  std::size_t told = 0;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, entry)) {
      const auto found = functions.find(without_path(match[1]));
      if (found == functions.end())
        throw std::runtime_error(fmt::format("ptxas compiled {}, which the cubin has not", match[1].str()));
      function = &found->second;
    } else if (function != nullptr && std::regex_search(line, match, spills)) {
      function->spill_stores = std::stoll(match[2]);
      function->spill_loads = std::stoll(match[3]);
    } else if (function != nullptr && std::regex_search(line, match, used)) {
      function->barriers = match[1].matched ? std::stoll(match[1]) : 0;
      function = nullptr;
      ++told;
    }
  }
  if (told != functions.size()) {
    throw std::runtime_error(fmt::format("ptxas told the resources of {} functions of {}", told, functions.size()));
  }
}

std::uint64_t machine_code(const std::map<std::string, Function>& functions) {
  std::uint64_t hash = mix(functions.size());
  for (const auto& [name, function] : functions) hash = mix(hash ^ hash_text(name, function.machine_code));
  return hash;
}

std::string without_path(const std::string& name) {
  // _INTERNAL_ and _GLOBAL__N__: eight hex digits of a path's hash, the file's name, and eight more of its content.
  static const std::regex local("(_INTERNAL_|_GLOBAL__N__)[0-9a-f]{8}_(\\d+)_(\\w+?)_[0-9a-f]{8}(_\\d+)?");
  return std::regex_replace(name, local, "$1$2_$3");
}

std::uint64_t ptx_hash(std::string_view ptx) {
  std::istringstream lines{std::string(ptx)};
  std::uint64_t hash = 0;
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t comment = line.find("//"); comment != std::string::npos) line.resize(comment);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    const std::size_t last = line.find_last_not_of(" \t\r");
    const std::string statement = line.substr(first, last - first + 1);
    if (statement.starts_with(".file") || statement.starts_with(".loc")) continue;
    const bool local =
        statement.find("_INTERNAL_") != std::string::npos || statement.find("_GLOBAL__N__") != std::string::npos;
    hash = mix(hash ^ hash_text(local ? without_path(statement) : statement));
  }
  return hash;
}

}  // namespace nbx::contracts::codegen
