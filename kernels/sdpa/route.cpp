#include "kernels/sdpa/route.hpp"

#include <bit>
#include <initializer_list>
#include <limits>

namespace nbx::sdpa {
namespace {

constexpr std::uint64_t default_bound = std::uint64_t{2} << 30;  // for head dims that are no power of two

/// 4 · the product of the factors: bytes of fp32 scores. The largest number where it does not fit.
std::uint64_t score_bytes(std::initializer_list<std::int64_t> factors) {
  std::uint64_t bytes = 4;
  bool overflow = false;
  for (const std::int64_t factor : factors) {
    if (factor == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(factor), &bytes);
  }
  return overflow ? std::numeric_limits<std::uint64_t>::max() : bytes;
}

std::string number(std::uint64_t value) { return std::to_string(value); }

/// Rule 1 or 2 has said math; at one query the decode kernel takes it where it can.
Route math_or_decode(const RouteQuestion& q, const Candidates& candidates, std::string reason) {
  if (q.Tq != 1 || q.decode_vec == DecodeVec::off) return {Route::Kind::math, 0, std::move(reason)};
  std::string why;
  if (candidates.decode_vec(why)) return {Route::Kind::decode_vec, 0, std::move(reason) + ", and there is one query"};
  return {Route::Kind::math, 0, std::move(reason) + "; decode.vec does not take the one query: " + why};
}

/// Rule 4: the rows of a chunk; 0 where chunks do not do. `reason` grows by why.
std::int64_t chunk_rows(const RouteQuestion& q, std::uint64_t bound, std::string& reason) {
  if (!q.profile || !q.profile->min_rows || !q.profile->max_chunks) {
    reason += "; no min_rows and max_chunks for chunks";
    return 0;
  }
  const auto least = static_cast<std::uint64_t>(*q.profile->min_rows);
  const std::uint64_t rows = bound / score_bytes({q.B, q.H, q.Tk}) / least * least;
  if (rows < least) {
    reason += "; fewer than " + number(least) + " rows of scores are within the bound";
    return 0;
  }
  const std::uint64_t chunks = (static_cast<std::uint64_t>(q.Tq) + rows - 1) / rows;
  const std::string made = number(chunks) + " chunks of " + number(rows) + " rows";
  if (chunks > static_cast<std::uint64_t>(*q.profile->max_chunks)) {
    reason += "; " + made + " are more than " + number(static_cast<std::uint64_t>(*q.profile->max_chunks));
    return 0;
  }
  reason += "; " + made + " are within it";
  return static_cast<std::int64_t>(rows);
}

}  // namespace

std::string unit_format(const std::string& format) { return format == "f32" ? "tf32" : format; }

std::string Route::text() const {
  constexpr const char* names[] = {"math", "decode.vec", "unit flash", "chunked", "flash"};
  std::string out = names[static_cast<int>(kind)];
  if (kind == Kind::chunked) out.append("(").append(std::to_string(chunk_rows)).append(")");
  return out.append(": ").append(reason);
}

Route choose_route(const RouteQuestion& q, const Candidates& candidates) {
  std::string why;
  if (q.forced) return {Route::Kind::math, 0, "forced"};
  if (q.decode_vec == DecodeVec::first && q.Tq == 1) {
    if (candidates.decode_vec(why)) return {Route::Kind::decode_vec, 0, "one query, and decode_vec is first"};
  }
  if (q.Dv != q.D) {
    return math_or_decode(q, candidates, "Dv = " + std::to_string(q.Dv) + " is not D = " + std::to_string(q.D));
  }
  const std::uint64_t scores = score_bytes({q.B, q.H, q.Tq, q.Tk});
  const std::uint64_t budget = q.profile ? q.profile->budget() : 0;
  const bool power = std::has_single_bit(static_cast<std::uint64_t>(q.D));
  const std::uint64_t bound = power || budget > 0 ? budget : default_bound;
  std::string reason = number(scores) + " bytes of scores";
  if (scores <= bound) return math_or_decode(q, candidates, reason + " are within the bound " + number(bound));
  reason += " are past the bound " + number(bound);

  if (q.profile && q.profile->has_tile(unit_format(q.format), q.D)) {
    if (candidates.unit_flash(why)) {
      return {Route::Kind::unit_flash, 0, reason + "; the profile has a tile for D = " + std::to_string(q.D)};
    }
    reason += "; the unit's flash does not take it: " + why;
  } else {
    reason += "; no tile of a unit for D = " + std::to_string(q.D);
  }
  if (const std::int64_t rows = chunk_rows(q, bound, reason); rows > 0) return {Route::Kind::chunked, rows, reason};
  return {Route::Kind::flash, 0, reason};
}

}  // namespace nbx::sdpa
