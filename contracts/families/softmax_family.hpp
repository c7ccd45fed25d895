#pragma once

#include "contracts/families/family.hpp"

namespace nbx::contracts {

const Family& softmax_family();
const Family& log_softmax_family();

}  // namespace nbx::contracts
