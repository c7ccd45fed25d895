#pragma once

#include "contracts/families/family.hpp"

namespace nbx::contracts {

/// q [B, H, 1, D], k_pool [pages, Hk, page_tokens, D], v_pool likewise, block_table [B, max_pages], seq_lens [B];
/// o [B, H, 1, Dv], lse [B, H, 1].
const Family& paged_decode_family();

}  // namespace nbx::contracts
