// In place of cubin.cpp where a build has no libelf.
#include <fmt/format.h>

#include <stdexcept>

#include "contracts/codegen/code.hpp"

namespace nbx::contracts::codegen {

std::map<std::string, Function> read_cubin(const std::filesystem::path& cubin) {
  throw std::runtime_error(
      fmt::format("{}: this build cannot read cubins, as libelf was not found when it was configured (libelf-dev)",
                  cubin.string()));
}

}  // namespace nbx::contracts::codegen
