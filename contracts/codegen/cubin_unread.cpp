// In place of cubin.cpp, elf.cpp and pack_code.cpp where a build has no libelf.
#include <fmt/format.h>

#include <stdexcept>

#include "contracts/codegen/code.hpp"
#include "contracts/codegen/pack_code.hpp"

namespace nbx::contracts::codegen {
namespace {

[[noreturn]] void unread(const std::string& what) {
  throw std::runtime_error(fmt::format(
      "{}: this build cannot read machine code, as libelf was not found when it was configured (libelf-dev)", what));
}

}  // namespace

std::map<std::string, Function> read_cubin(std::string_view, const std::string& called) { unread(called); }

PackCode pack_code(const std::filesystem::path& pack, const std::string&) { unread(pack.filename().string()); }

}  // namespace nbx::contracts::codegen
