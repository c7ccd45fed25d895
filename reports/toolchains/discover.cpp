#include "reports/toolchains/discover.hpp"

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>

#include "reports/program.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;

void add_folders(const char* variable, const char* below, std::vector<fs::path>& folders) {
  const char* const value = std::getenv(variable);
  const std::string text = value != nullptr ? value : "";
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(':', start), text.size());
    if (end > start) folders.push_back(fs::path(text.substr(start, end - start)) / below);
    start = end + 1;
  }
}

std::vector<fs::path> folders_to_look_in() {
  std::vector<fs::path> folders;
  add_folders("PATH", "", folders);
  add_folders("NBX_TOOLCHAINS", "", folders);
  add_folders("CUDA_HOME", "bin", folders);
  std::error_code none;
  std::vector<fs::path> toolkits;
  for (const auto& entry : fs::directory_iterator("/usr/local", none)) {
    if (entry.path().filename().string().starts_with("cuda")) toolkits.push_back(entry.path() / "bin");
  }
  std::sort(toolkits.begin(), toolkits.end());
  folders.insert(folders.end(), toolkits.begin(), toolkits.end());
  return folders;
}

/// A compiler cache stands in front of a compiler and has its name.
bool is_cache(const fs::path& file) { return file.filename() == "ccache" || file.filename() == "sccache"; }

}  // namespace

std::vector<Toolchain> discover_toolchains() {
  static const std::regex wanted("(g\\+\\+|clang\\+\\+)(-[0-9]+)?|nvcc|ptxas");
  // A name with a version is the better one: g++ may be another compiler tomorrow.
  std::vector<std::pair<fs::path, fs::path>> programs;  // where it really lies, as it was found
  for (const fs::path& folder : folders_to_look_in()) {
    std::error_code none;
    std::vector<fs::path> here;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
      if (std::regex_match(entry.path().filename().string(), wanted)) here.push_back(entry.path());
    }
    std::sort(here.begin(), here.end(), [](const fs::path& a, const fs::path& b) {
      const std::size_t x = a.string().size(), y = b.string().size();
      return x != y ? x > y : a < b;
    });
    for (const fs::path& file : here) {
      const fs::path real = fs::canonical(file, none);
      if (none || is_cache(real) || find_program(file.string()).empty()) continue;
      const auto same = [&](const auto& other) { return other.first == real; };
      if (std::none_of(programs.begin(), programs.end(), same)) programs.emplace_back(real, file);
    }
  }
  std::vector<Toolchain> out;
  for (const auto& [real, file] : programs) {
    Toolchain one;
    one.name = compiler_version(file.string());
    const std::string name = file.filename();
    (name == "nvcc" ? one.nvcc : name == "ptxas" ? one.ptxas : one.cxx) = file.string();
    out.push_back(std::move(one));
  }
  std::stable_sort(out.begin(), out.end(), [](const Toolchain& a, const Toolchain& b) {
    const auto rank = [](const Toolchain& t) { return !t.cxx.empty() ? 0 : !t.nvcc.empty() ? 1 : 2; };
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.name < b.name;
  });
  return out;
}

}  // namespace nbx::reports
