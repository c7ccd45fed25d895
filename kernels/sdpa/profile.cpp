#include "kernels/sdpa/profile.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "kernels/pack/refusal.hpp"

namespace nbx::sdpa {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(std::string_view given, const std::string& why, std::string_view accepted) {
  const std::string shown(given.substr(0, 200));
  pack::refuse(NBX_INVALID, "profile", shown + ", " + why, accepted);
}

std::string text_of(std::string_view given) {
  if (!given.empty() && given.front() == '{') return std::string(given);
  std::ifstream file{std::string(given), std::ios::binary};
  std::string text;
  bool read = file.is_open();
  try {
    text.assign(std::istreambuf_iterator<char>(file), {});
  } catch (const std::ios_base::failure&) {  // a folder opens, and cannot be read
    read = false;
  }
  if (!read || file.bad()) refuse(given, "which cannot be read", "the path of a JSON file, or a JSON object");
  return text;
}

std::uint64_t whole(std::string_view given, const std::string& key, const Json& value, std::uint64_t least) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least ||
      value.get<std::uint64_t>() > (std::uint64_t{1} << 62)) {
    refuse(given, "whose " + key + " is " + value.dump(), "a whole number from " + std::to_string(least));
  }
  return value.get<std::uint64_t>();
}

void read_tiles(std::string_view given, const Json& value, Profile& out) {
  if (!value.is_object()) refuse(given, "whose tiles is " + value.dump(), "an object of lists of head dims");
  for (const auto& [format, dims] : value.items()) {
    if (!dims.is_array()) refuse(given, "whose tiles." + format + " is " + dims.dump(), "a list of head dims");
    for (const Json& dim : dims) {
      out.tiles.emplace_back(format, static_cast<std::int64_t>(whole(given, "tiles." + format, dim, 1)));
    }
  }
}

}  // namespace

std::uint64_t Profile::budget() const {
  if (!fraction || !memory_bytes) return bytes;
  return std::min(bytes, static_cast<std::uint64_t>(*fraction * static_cast<double>(*memory_bytes)));
}

bool Profile::has_tile(std::string_view format, std::int64_t D) const {
  return std::any_of(tiles.begin(), tiles.end(),
                     [&](const auto& tile) { return tile.first == format && tile.second == D; });
}

Profile read_profile(std::string_view given) {
  const Json json = Json::parse(text_of(given), nullptr, false);
  if (!json.is_object()) refuse(given, "which is no JSON object", "the path of a JSON file, or a JSON object");
  if (!json.contains("bytes")) refuse(given, "which has no bytes", "an object with bytes");
  Profile out;
  for (const auto& [key, value] : json.items()) {
    const auto signed_of = [&, &name = key, &number = value](std::uint64_t least) {
      return static_cast<std::int64_t>(whole(given, name, number, least));
    };
    if (key == "bytes") {
      out.bytes = whole(given, key, value, 0);
    } else if (key == "memory_bytes") {
      out.memory_bytes = whole(given, key, value, 1);
    } else if (key == "fraction") {
      if (!value.is_number() || !(value.get<double>() > 0) || !(value.get<double>() <= 1)) {
        refuse(given, "whose fraction is " + value.dump(), "a number above 0, at most 1");
      }
      out.fraction = value.get<double>();
    } else if (key == "min_rows") {
      out.min_rows = signed_of(1);
    } else if (key == "max_chunks") {
      out.max_chunks = signed_of(1);
    } else if (key == "ceiling") {
      out.ceiling = signed_of(1);
    } else if (key == "tiles") {
      read_tiles(given, value, out);
    } else if (key != "device") {
      refuse(given, "which says " + key,
             "bytes, memory_bytes, fraction, min_rows, max_chunks, ceiling, tiles and device");
    }
  }
  return out;
}

}  // namespace nbx::sdpa
