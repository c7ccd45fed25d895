#pragma once

#include "contracts/family.hpp"

namespace nbx::contracts {

const Family& attention_family();

}  // namespace nbx::contracts
