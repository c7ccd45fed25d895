// One nvcc's front end before another one's assembler.
#pragma once

#include <filesystem>
#include <string>

namespace nbx::reports {

/// The assembler that `nvcc` calls: the ptxas beside it. Empty where there is none.
std::filesystem::path ptxas_of(const std::string& nvcc);

/// A program that is `nvcc` but for its assembler, which is `ptxas`: a folder of links within `folder`. PTX that says a
/// newer version than `ptxas` knows has that line lowered to its own, as a newer front end writes it whether it needs
/// it or not; what ptxas then does not understand it still refuses. Throws std::runtime_error where one of them is
/// missing.
std::filesystem::path mixed_nvcc(const std::string& nvcc, const std::string& ptxas,
                                 const std::filesystem::path& folder);

}  // namespace nbx::reports
