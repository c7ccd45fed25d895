// What faults of several tables are made of.
#pragma once

#include "controls/call.hpp"

namespace nbx::controls {

/// Of the family attention: the sizes of a call.
struct Sizes {
  std::int64_t B, H, Hk, Tq, Tk, D, Dv;
};
Sizes sizes(Call& call);

/// As the kernels read them.
float scale_of(Call& call);
void set_scale(Call& call, double scale);
/// "none" where the call says nothing.
const char* causal_of(Call& call);
void set_causal(Call& call, const char* causal);

/// The keys [first, first + count) in place of all. A bias that is not broadcast along keys goes with them.
void take_keys(Call& call, std::int64_t first, std::int64_t count);

/// Q and K read from the last head dim to the first: the same scores, but for the order of their additions. The bits
/// change where they may.
void reverse_head_dim(Call& call);

/// The size that an axis parameter names, as a place from the front.
int axis_of(Call& call);

}  // namespace nbx::controls
