#include "reports/bisect/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "contracts/codegen/process.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports::bisect {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path absolute(const fs::path& folder, const fs::path& file) {
  return (file.is_absolute() ? file : folder / file).lexically_normal();
}

bool is_cache(const std::string& word) {
  const std::string name = fs::path(word).filename();
  return name == "ccache" || name == "sccache" || name == "distcc";
}

struct Entry {
  Unit unit;
  fs::path object;
};

Entry read_entry(const json& from) {
  Entry out;
  Unit& unit = out.unit;
  unit.folder = from.at("directory").get<std::string>();
  unit.file = absolute(unit.folder, from.at("file").get<std::string>());
  const std::vector<std::string> words = from.contains("arguments")
                                             ? from.at("arguments").get<std::vector<std::string>>()

                                             : contracts::codegen::shell_words(from.at("command").get<std::string>());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-o" && i + 1 < words.size()) {
      out.object = absolute(unit.folder, words[++i]);
    } else if (word == "-MF" || word == "-MT" || word == "-MQ") {
      ++i;  // where dependencies go, not what is compiled
    } else if (word != "-c" && word != "-MD" && word != "-MMD" && !word.starts_with("-Werror") &&
               !(unit.command.empty() && is_cache(word))) {
      unit.command.push_back(word);
    }
    if (word == "-flto" || word.starts_with("-flto=")) {
      throw std::runtime_error(
          fmt::format("{}: {}; accepted: a unit that is compiled to machine code by itself", unit.file.string(), word));
    }
  }
  if (unit.command.empty()) throw std::runtime_error(fmt::format("{}: its command is empty", unit.file.string()));
  const std::string compiler = fs::path(unit.command.front()).filename();
  unit.cuda = compiler.starts_with("nvcc") || unit.file.extension() == ".cu";
  if (const auto output = from.find("output"); output != from.end() && out.object.empty()) {
    out.object = absolute(unit.folder, output->get<std::string>());
  }
  unit.object = out.object;
  return out;
}

void name_units(std::vector<Unit>& units) {
  if (units.empty()) return;
  fs::path shared = units.front().file.parent_path();
  for (const Unit& unit : units) {
    while (shared.has_relative_path() && unit.file.lexically_relative(shared).string().starts_with("..")) {
      shared = shared.parent_path();
    }
  }
  std::set<std::string> names;
  for (Unit& unit : units) {
    unit.name = unit.file.lexically_relative(shared).string();
    // One source may be compiled twice, with other macros.
    for (int again = 2; !names.insert(unit.name).second; ++again) {
      unit.name = fmt::format("{}#{}", unit.file.lexically_relative(shared).string(), again);
    }
  }
}

json read_json(const fs::path& file) {
  json out = json::parse(read_file(file), nullptr, false);
  if (out.is_discarded()) throw std::runtime_error(fmt::format("{}: not JSON", file.string()));
  return out;
}

}  // namespace

PackUnits read_units(const fs::path& file) try {
  const json top = read_json(file);
  PackUnits out;
  std::set<fs::path> wanted;
  json list = top;
  if (top.is_object()) {
    list = read_json(absolute(file.parent_path(), top.at("compile_commands").get<std::string>()));
    for (const json& object : top.at("objects")) wanted.insert(absolute(file.parent_path(), object.get<std::string>()));
    out.link = top.value("link", std::vector<std::string>{});
  }
  for (const json& one : list) {
    // The whole list may hold units of other parts, compiled in ways that are nobody's business here.
    if (top.is_object()) {
      const fs::path folder = one.at("directory").get<std::string>();
      const auto output = one.find("output");
      if (output != one.end() && wanted.count(absolute(folder, output->get<std::string>())) == 0) continue;
    }
    Entry entry = read_entry(one);
    if (top.is_object() && wanted.erase(entry.object) == 0) continue;
    out.units.push_back(std::move(entry.unit));
  }
  if (!wanted.empty()) {
    throw std::runtime_error(fmt::format("no command makes {}", wanted.begin()->string()));
  }
  if (out.units.empty()) throw std::runtime_error("it has no units");
  std::sort(out.units.begin(), out.units.end(), [](const Unit& a, const Unit& b) { return a.file < b.file; });
  name_units(out.units);
  return out;
} catch (const json::exception& error) {
  throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
} catch (const std::runtime_error& error) {
  throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
}

std::vector<std::string> compile_words(const Unit& unit, const Toolchain& toolchain,
                                       const std::vector<std::string>& more) {
  std::vector<std::string> words = unit.command;
  const std::string& compiler = unit.cuda ? toolchain.nvcc : toolchain.cxx;
  if (!compiler.empty()) words.front() = compiler;
  const std::vector<std::string> flags = added_flags(toolchain, unit.name, unit.cuda);
  words.insert(words.end(), flags.begin(), flags.end());
  // The host's part of a CUDA unit is the host compiler's.
  if (unit.cuda && !toolchain.cxx.empty()) words.insert(words.end(), {"-ccbin", toolchain.cxx});
  words.push_back("-w");  // another compiler warns of other things
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace nbx::reports::bisect
