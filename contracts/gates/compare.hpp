// Two outcomes held against each other, bit for bit.
#pragma once

#include <optional>

#include "contracts/gates/red.hpp"

namespace nbx::contracts {

/// The output tensors of a call, in the order of Outcome::outputs.
std::vector<const CallTensor*> output_tensors(const Call& call);

/// What the family knows of an output.
const OutputInfo& output_info(const Instance& instance, const std::string& name);

/// The first output in which `other` differs from `plain`; elements pair up by Way::base, or one to one without it.
std::optional<Difference> difference(const Call& plain_call, const Outcome& plain, const Call& other_call,
                                     const Outcome& other,
                                     const std::map<std::string, std::vector<std::int64_t>>* base = nullptr);

}  // namespace nbx::contracts
