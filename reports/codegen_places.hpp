// Where this build has what gate 5 needs.
#pragma once

#include "contracts/codegen/gate5.hpp"
#include "reports/session.hpp"

namespace nbx::reports {

/// `nvcc` in place of the compiler that the build was configured with; empty: that one.
inline contracts::codegen::Places codegen_places(const Session& session, const std::string& nvcc) {
  return {session.folder / "compile_commands.json", session.folder / "codegen", session.folder / "records" / "codegen",
          nvcc};
}

}  // namespace nbx::reports
