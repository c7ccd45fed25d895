// Which kernel computes a call: the rules alone, without a kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/sdpa/profile.hpp"

namespace nbx::sdpa {

enum class DecodeVec : std::uint8_t { off, by_default, first };

/// What a matrix unit takes operands of `format` as: f32 as tf32.
std::string unit_format(const std::string& format);

struct RouteQuestion {
  std::int64_t B, H, Tq, Tk, D, Dv;
  std::string format;  // of every operand, after narrowing: "f16"
  std::optional<Profile> profile;
  bool forced = false;  // math, whatever else
  DecodeVec decode_vec = DecodeVec::by_default;
};

/// Whether a kernel is there and takes the call; if not, `why`.
class Candidates {
 public:
  virtual ~Candidates() = default;
  virtual bool decode_vec(std::string& why) const = 0;
  virtual bool unit_flash(std::string& why) const = 0;
};

struct Route {
  enum class Kind : std::uint8_t { math, decode_vec, unit_flash, chunked, flash };
  Kind kind = Kind::math;
  std::int64_t chunk_rows = 0;  // of chunked
  std::string reason;

  /// "chunked(32): 39,200 bytes of scores ...".
  std::string text() const;
};

/// The rules, in their order (kernels/README.md).
Route choose_route(const RouteQuestion& question, const Candidates& candidates);

}  // namespace nbx::sdpa
