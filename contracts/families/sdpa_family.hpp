#pragma once

#include "contracts/families/family.hpp"

namespace nbx::contracts {

const Family& sdpa_family();

}  // namespace nbx::contracts
