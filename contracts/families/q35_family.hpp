#pragma once

#include "contracts/families/family.hpp"

namespace nbx::contracts {

/// q [rows, H, 256], k and v [streams, Hk, capacity, 256], stream and limit [rows], scales [Hk] of e4m3 caches;
/// o [rows, H, 256], or the partials pm, pl [rows, H, chunks] and po [rows, H, chunks, 256].
const Family& q35_family();

}  // namespace nbx::contracts
