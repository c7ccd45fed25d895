// The family q35: rows that each see a prefix of their stream's cache, in chunks of keys.
#pragma once

#include <optional>

#include "kernels/pack/problem.hpp"
#include "kernels/tile/qualifiers.hpp"

namespace nbx::q35 {

inline constexpr std::int64_t head_dim = 256;
/// Keys of a chunk where the row's limit is at most `narrow_limit`; beyond, a multiple of it that keeps the number of
/// chunks at most narrow_limit / chunk_keys.
inline constexpr std::int64_t chunk_keys = 128;
inline constexpr std::int64_t narrow_limit = 8192;

/// Of a row that sees `limit` keys.
NBX_FUNCTION std::int64_t chunk_width(std::int64_t limit) {
  return limit <= narrow_limit ? chunk_keys : chunk_keys * ((limit + narrow_limit - 1) / narrow_limit);
}

/// q [rows, H, 256] bf16; k and v [streams, Hk, capacity, 256]; e4m3 caches have k_scale and v_scale [Hk] f32; stream
/// and limit [rows]. Out: pm and pl [rows, H, chunks], po [rows, H, chunks, 256] f32, or o [rows, H, 256] bf16.
struct Problem {
  std::int64_t rows = 0, H = 0, Hk = 0, streams = 0, capacity = 0, chunks = 0;
  pack::Tensor q, k, v, stream, limit;
  std::optional<pack::Tensor> k_scale, v_scale, pm, pl, po, o;

  std::int64_t group() const { return Hk == 0 ? 0 : H / Hk; }
};

struct Support {
  DLDataType cache;
  DLDeviceType device;
  bool partials;  // gives pm, pl and po; else o
};

/// Throws a Refusal. `with_data` also asks that tensors have data; tables are not looked into.
Problem read(const nbx_problem& problem, const Support& support, bool with_data);

/// What tables hold, copied to the host; throws a Refusal.
void require_tables(const Problem& problem, const std::int32_t* stream, const std::int32_t* limit);

}  // namespace nbx::q35
