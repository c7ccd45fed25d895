#pragma once

#include "contracts/families/family.hpp"

namespace nbx::contracts {

const Family& attention_family();

}  // namespace nbx::contracts
