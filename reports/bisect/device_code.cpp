#include "reports/bisect/device_code.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "reports/content_hash.hpp"
#include "reports/text.hpp"
#include "reports/toolchains/mixed_nvcc.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports::bisect {

namespace fs = std::filesystem;
using nlohmann::json;

std::string architecture_of(const Unit& unit) {
  static const std::regex named("sm_[0-9]+[a-z]?");
  std::string found;
  for (const std::string& word : unit.command) {
    for (std::sregex_iterator at(word.begin(), word.end(), named), end; at != end; ++at) {
      if (word.find("arch") != std::string::npos || word.find("code") != std::string::npos) found = at->str();
    }
  }
  return found;
}

Toolchain with_assembler_of(const Toolchain& toolchain, const Toolchain& assembler, const Unit& unit) {
  Toolchain out = toolchain;
  out.ptxas_flags = assembler.ptxas_flags;
  out.ptxas = assembler.ptxas;
  if (out.ptxas.empty()) out.ptxas = ptxas_of(compile_words(unit, assembler).front());
  return out;
}

contracts::codegen::Build device_code(const std::vector<NamedUnit>& units, const Toolchain& toolchain,
                                      const std::vector<std::string>& architectures, const fs::path& folder, int jobs,
                                      const std::atomic<bool>& stop) {
  json commands = json::array();
  std::vector<contracts::codegen::Unit> wanted;
  for (const NamedUnit& one : units) {
    std::vector<std::string> words = compile_words(*one.unit, toolchain);
    if (!toolchain.ptxas.empty()) words.front() = mixed_nvcc(words.front(), toolchain.ptxas, folder);
    for (std::string& word : words) word = shell_word(word);
    commands.push_back(
        {{"directory", one.unit->folder.string()}, {"file", one.unit->file.string()}, {"command", joined(words, " ")}});
    wanted.push_back({one.name, one.unit->file.string().substr(1)});
  }
  fs::create_directories(folder);
  const std::string text = commands.dump(1);
  const fs::path file = folder / fmt::format("commands-{}.json", content_hash(text));
  if (const std::string why_not = write_file(file, text); !why_not.empty()) throw std::runtime_error(why_not);
  return contracts::codegen::build(wanted, {file, folder / "codegen", "", architectures, jobs}, stop);
}

}  // namespace nbx::reports::bisect
