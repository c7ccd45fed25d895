#include "reports/toolchains/mixed_nvcc.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <regex>
#include <stdexcept>

#include "reports/content_hash.hpp"
#include "reports/program.hpp"
#include "reports/text.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;

fs::path real_program(const std::string& word) {
  const fs::path file = find_program(word);
  if (file.empty()) throw std::runtime_error(fmt::format("{}: there is no such program here", word));
  return fs::canonical(file);
}

/// The newest PTX that it takes, "9.0", in its own words.
std::string newest_ptx(const fs::path& ptxas, const fs::path& folder) {
  const fs::path probe = folder / "version.ptx";
  if (const std::string why_not = write_file(probe, ".version 99.0\n.target sm_90\n.address_size 64\n");
      !why_not.empty()) {
    throw std::runtime_error(why_not);
  }
  const std::string said = run_program({ptxas, "-arch=sm_90", probe, "-o", "/dev/null"}).output;
  std::smatch match;
  if (!std::regex_search(said, match, std::regex("current version is '([0-9]+\\.[0-9]+)'"))) {
    throw std::runtime_error(fmt::format("{} does not say which PTX it knows: {}", ptxas.string(), said));
  }
  return match[1];
}

/// nvcc gives PTX as a file of its own making, which may be changed in place.
std::string assembler_script(const fs::path& ptxas, const std::string& newest) {
  return fmt::format(
      "#!/bin/sh\n"
      "for word; do\n"
      "  case $word in *.ptx)\n"
      "    has=$(sed -n 's/^\\.version \\([0-9.]*\\).*/\\1/p' \"$word\" | head -n 1)\n"
      "    first=$(printf '%s\\n%s\\n' \"$has\" {0} | sort -V | head -n 1)\n"
      "    [ \"$first\" = \"$has\" ] || sed -i 's/^\\.version .*/.version {0}/' \"$word\" ;;\n"
      "  esac\n"
      "done\n"
      "exec {1} \"$@\"\n",
      newest, shell_word(ptxas.string()));
}

void link_all(const fs::path& from, const fs::path& to, const fs::path& but) {
  for (const auto& entry : fs::directory_iterator(from)) {
    const fs::path name = entry.path().filename();
    if (name != but) fs::create_symlink(entry.path(), to / name);
  }
}

}  // namespace

fs::path ptxas_of(const std::string& nvcc) {
  const fs::path file = find_program(nvcc);
  if (file.empty()) return {};
  for (const fs::path& folder : {file.parent_path(), fs::canonical(file).parent_path()}) {
    if (fs::exists(folder / "ptxas")) return folder / "ptxas";
  }
  return {};
}

fs::path mixed_nvcc(const std::string& nvcc, const std::string& ptxas, const fs::path& folder) {
  const fs::path front = real_program(nvcc), assembler = real_program(ptxas);
  const fs::path own = fs::absolute(folder) / ("nvcc-" + content_hash({front.string(), assembler.string()}));
  if (fs::exists(own)) return own / "bin" / "nvcc";
  // Made beside its place and renamed: another run may look for it at the same time.
  const fs::path half = own.string() + ".half" + std::to_string(::getpid());
  fs::remove_all(half);
  fs::create_directories(half / "bin");
  link_all(front.parent_path().parent_path(), half, "bin");
  link_all(front.parent_path(), half / "bin", "ptxas");
  const fs::path script = half / "bin" / "ptxas";
  const std::string why_not = write_file(script, assembler_script(assembler, newest_ptx(assembler, half)));
  if (!why_not.empty()) throw std::runtime_error(why_not);
  fs::permissions(script, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec);
  std::error_code taken;
  fs::rename(half, own, taken);
  if (taken) fs::remove_all(half);
  return own / "bin" / "nvcc";
}

}  // namespace nbx::reports
