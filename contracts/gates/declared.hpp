// A kernel's declared arithmetic, from the pack's words to the oracle's.
#pragma once

#include <optional>
#include <string>

#include "contracts/child/executor.hpp"
#include "oracle/arithmetic.hpp"

namespace nbx::contracts {

/// Nothing, and why, where the oracle has no bound for it.
std::optional<oracle::Arithmetic> declared(const nbx_arithmetic& arithmetic, DLDataType output, std::string* why);

}  // namespace nbx::contracts
