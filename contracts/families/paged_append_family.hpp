#pragma once

#include "contracts/families/family.hpp"

namespace nbx::contracts {

/// new [N, Hk, D] into pool [pages, Hk, page_tokens, D] at slots [N].
const Family& paged_append_family();

}  // namespace nbx::contracts
