// What a device's profile says: a JSON file, or the JSON object itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nbx::sdpa {

/// {"bytes": 2147483648, "fraction": 0.066, "memory_bytes": 17179869184, "min_rows": 128, "max_chunks": 16,
///  "ceiling": 64, "tiles": {"f16": [64, 128]}, "device": "any name"}
/// `bytes` is required. `memory_bytes` is the device's memory, left out where the device is not known.
struct Profile {
  std::uint64_t bytes = 0;
  std::optional<double> fraction;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::int64_t> min_rows, max_chunks;
  std::optional<std::int64_t> ceiling;                      // of the height of flash's query tiles
  std::vector<std::pair<std::string, std::int64_t>> tiles;  // format and head dim that a matrix unit's flash has

  /// bytes, capped by fraction · memory where both are known.
  std::uint64_t budget() const;
  bool has_tile(std::string_view format, std::int64_t D) const;
};

/// `given` is a path, or starts with '{'. Throws a Refusal that names the parameter "profile" where it cannot be read
/// or says what no profile says.
Profile read_profile(std::string_view given);

}  // namespace nbx::sdpa
