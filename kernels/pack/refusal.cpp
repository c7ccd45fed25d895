#include "kernels/pack/refusal.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace nbx::pack {

std::string text(std::int64_t value) { return std::to_string(value); }

std::string text(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", value);
  return digits;
}

std::string text(const std::int64_t* values, int count) {
  std::string out = "[";
  for (int i = 0; i < count; ++i) out += (i == 0 ? "" : ", ") + text(values[i]);
  return out + "]";
}

void refuse(nbx_status status, std::string_view argument, std::string_view value, std::string_view accepted) {
  std::string words(argument);
  words.append(": ").append(value).append("; accepted: ").append(accepted);
  throw Refusal{status, words};
}

void write_message(char* message, std::size_t capacity, std::string_view words) {
  if (message == nullptr || capacity == 0) return;
  const std::size_t length = std::min(words.size(), capacity - 1);
  std::memcpy(message, words.data(), length);
  message[length] = '\0';
}

}  // namespace nbx::pack
