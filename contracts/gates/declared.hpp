// A kernel's declared arithmetic, from the pack's words to the oracle's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "contracts/child/executor.hpp"
#include "oracle/arithmetic.hpp"

namespace nbx::contracts {

/// Nothing, and why, where the oracle has no bound for it. `imitates` is the architecture whose matrix units the pack
/// has or models ("sm_90"); empty where it has none.
std::optional<oracle::Arithmetic> declared(const nbx_arithmetic& arithmetic, DLDataType output,
                                           std::string_view imitates, std::string* why);

}  // namespace nbx::contracts
