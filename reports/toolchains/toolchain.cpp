#include "reports/toolchains/toolchain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "contracts/pattern.hpp"
#include "reports/program.hpp"
#include "reports/text.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* accepted_keys = "name, cxx, cxx_flags, nvcc, nvcc_flags, ptxas, ptxas_flags, unit_flags, about";

[[noreturn]] void refuse(const std::string& from, const std::string& key, const std::string& value,
                         const std::string& accepted) {
  throw std::runtime_error(fmt::format("{}: {}: {}; accepted: {}", from, key, value, accepted));
}

std::string word(const std::string& from, const std::string& key, const json& value) {
  if (!value.is_string() || value.get<std::string>().empty()) refuse(from, key, value.dump(), "a word in quotes");
  return value;
}

std::vector<std::string> words(const std::string& from, const std::string& key, const json& value) {
  if (!value.is_array()) refuse(from, key, value.dump(), "a list of words in quotes, [\"-O2\"]");
  std::vector<std::string> out;
  for (const json& one : value) out.push_back(word(from, key, one));
  return out;
}

}  // namespace

std::vector<std::string> added_flags(const Toolchain& toolchain, const std::string& unit, bool cuda) {
  std::vector<std::string> flags = cuda ? toolchain.nvcc_flags : toolchain.cxx_flags;
  for (const auto& [pattern, more] : toolchain.unit_flags) {
    if (contracts::glob(pattern, unit) || contracts::glob("*/" + pattern, unit)) {
      flags.insert(flags.end(), more.begin(), more.end());
    }
  }
  if (cuda) {
    for (const std::string& flag : toolchain.ptxas_flags) flags.push_back("-Xptxas=" + flag);
  }
  return flags;
}

Toolchain parse_toolchain(std::string_view text, const std::string& from) {
  const json read = json::parse(text, nullptr, false);
  if (!read.is_object()) refuse(from, "content", clipped(text, 40), "an object in JSON");
  Toolchain out;
  for (const auto& [key, value] : read.items()) {
    if (key == "name") {
      out.name = word(from, key, value);
    } else if (key == "about") {
      word(from, key, value);  // for people
    } else if (key == "cxx" || key == "nvcc" || key == "ptxas") {
      (key == "cxx" ? out.cxx : key == "nvcc" ? out.nvcc : out.ptxas) = word(from, key, value);
    } else if (key == "cxx_flags" || key == "nvcc_flags" || key == "ptxas_flags") {
      (key == "cxx_flags"    ? out.cxx_flags
       : key == "nvcc_flags" ? out.nvcc_flags
                             : out.ptxas_flags) = words(from, key, value);
    } else if (key == "unit_flags") {
      if (!value.is_object()) refuse(from, key, value.dump(), "an object from pattern to a list of flags");
      for (const auto& [pattern, flags] : value.items()) out.unit_flags[pattern] = words(from, pattern, flags);
    } else {
      refuse(from, "key", key, accepted_keys);
    }
  }
  if (out.name.empty()) refuse(from, "name", "missing", "a word in quotes");
  return out;
}

std::string to_json(const Toolchain& toolchain) {
  json out{{"name", toolchain.name}};
  const auto put = [&](const char* key, const auto& value) {
    if (!value.empty()) out[key] = value;
  };
  put("cxx", toolchain.cxx);
  put("cxx_flags", toolchain.cxx_flags);
  put("nvcc", toolchain.nvcc);
  put("nvcc_flags", toolchain.nvcc_flags);
  put("ptxas", toolchain.ptxas);
  put("ptxas_flags", toolchain.ptxas_flags);
  put("unit_flags", toolchain.unit_flags);
  return out.dump(2) + "\n";
}

std::vector<Toolchain> toolchains_in(const fs::path& folder) {
  std::vector<Toolchain> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() != ".json") continue;
    out.push_back(parse_toolchain(read_file(entry.path()), entry.path().string()));
  }
  std::sort(out.begin(), out.end(), [](const Toolchain& a, const Toolchain& b) { return a.name < b.name; });
  return out;
}

Toolchain find_toolchain(const std::string& word, const fs::path& folder) {
  if (fs::path(word).extension() == ".json") return parse_toolchain(read_file(word), word);
  std::vector<std::string> names;
  for (Toolchain& toolchain : toolchains_in(folder)) {
    if (toolchain.name == word) return std::move(toolchain);
    names.push_back(toolchain.name);
  }
  if (!find_program(word).empty()) {
    Toolchain out;
    out.name = word;
    (fs::path(word).filename().string().starts_with("nvcc") ? out.nvcc : out.cxx) = word;
    return out;
  }
  throw std::runtime_error(
      fmt::format("toolchain: {}; accepted: a file that ends in .json, a compiler on this machine (nbx-contract "
                  "toolchains lists them), or one of {}",
                  word, joined(names, ", ")));
}

std::string compiler_identity(const std::string& program) {
  const fs::path file = find_program(program);
  if (file.empty()) return {};
  std::string text;
  // The driver of gcc is one program and the compiler that it calls another one; clang and nvcc answer with a bare
  // name.
  fs::path compiler;
  if (const Finished named = run_program({file, "-print-prog-name=cc1plus"}, {.folder = {}, .both = false});
      named.good()) {
    compiler = named.output.substr(0, named.output.find('\n'));
  }
  for (const fs::path& one : {fs::canonical(file), compiler}) {
    std::error_code none;
    if (!one.is_absolute() || !fs::exists(one, none)) continue;
    text += fmt::format("{} {} {}\n", one.string(), fs::file_size(one),
                        fs::last_write_time(one).time_since_epoch().count());
  }
  return text + run_program({file, "--version"}).output;
}

std::string compiler_version(const std::string& program) {
  const fs::path file = find_program(program);
  if (file.empty()) return "missing";
  const std::string said = run_program({file, "--version"}).output;
  std::smatch match;
  static const std::regex nvidia("V([0-9]+(\\.[0-9]+)+)"), plain("([0-9]+\\.[0-9]+\\.[0-9]+)");
  const std::string name = said.find("Cuda compiler") != std::string::npos    ? "nvcc"
                           : said.find("PTX optimizing") != std::string::npos ? "ptxas"
                           : said.find("clang") != std::string::npos          ? "clang"
                           : said.find("Free Software") != std::string::npos  ? "g++"
                                                                              : file.filename().string();
  const bool known = std::regex_search(said, match, name == "nvcc" || name == "ptxas" ? nvidia : plain);
  return name + (known ? " " + match[1].str() : ", version unknown");
}

}  // namespace nbx::reports
