// From a mutation to a kernel of the pack.
#pragma once

#include "controls/mutation.hpp"

namespace nbx::controls {

/// The honest kernel's description, promises and declared arithmetic, with the entries of the target. `control` and
/// `name` outlive it.
nbx_kernel wrapped(const Target& target, const Mutation& mutation, const char* name, const nbx_control* control);

}  // namespace nbx::controls
