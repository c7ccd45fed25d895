// The families paged_append and paged_decode, read and checked.
#pragma once

#include <optional>

#include "kernels/pack/problem.hpp"

namespace nbx::paged {

/// Pages hold a multiple of this many positions, so that no tile of positions crosses from one page to the next.
inline constexpr std::int64_t position_tile = 64;

/// new [N, Hk, D] into pool [pages, Hk, page_tokens, D] at slots [N]: page · page_tokens + position, −1 to skip.
struct Append {
  std::int64_t N = 0, Hk = 0, D = 0, pages = 0, page_tokens = 0;
  pack::Tensor tokens, slots, pool;
  bool casts = false;  // tokens are f32 and the pool is not

  std::int64_t places() const { return pages * page_tokens; }
};

/// q [B, H, 1, D]; k_pool [pages, Hk, page_tokens, D] and v_pool with Dv; block_table [B, max_pages]; seq_lens [B];
/// o [B, H, 1, Dv], lse [B, H, 1].
struct Decode {
  std::int64_t B = 0, H = 0, Hk = 0, D = 0, Dv = 0, pages = 0, page_tokens = 0, max_pages = 0, max_seq_len = 0;
  pack::Tensor q, k_pool, v_pool, block_table, seq_lens, o;
  std::optional<pack::Tensor> lse;
  float scale = 0;
  bool q_round = false;

  std::int64_t group() const { return Hk == 0 ? 0 : H / Hk; }
  std::int64_t capacity() const { return max_pages * page_tokens; }
  /// The most keys that a sequence may have.
  std::int64_t keys() const { return max_seq_len < capacity() ? max_seq_len : capacity(); }
};

struct Support {
  DLDataType format;
  DLDeviceType device;
};

/// Both throw a Refusal. `with_data` also asks that tensors have data; tables are not looked into.
Append read_append(const nbx_problem& problem, const Support& support, bool with_data);
Decode read_decode(const nbx_problem& problem, const Support& support, bool with_data);

/// What tables hold, copied to the host; throw a Refusal.
void require_slots(const Append& append, const std::int32_t* slots);
void require_tables(const Decode& decode, const std::int32_t* block_table, const std::int32_t* seq_lens);

}  // namespace nbx::paged
