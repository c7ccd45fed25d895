// How a kernel says no: a thrown Refusal inside, a status and a message at the C boundary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "kernels/pack/nbx_pack.h"

namespace nbx::pack {

struct Refusal {
  nbx_status status;
  std::string message;
};

/// Text of one value as messages print it: reals with all digits that fp32 needs, shapes as [2, 3].
std::string text(std::int64_t value);
std::string text(double value);
std::string text(const std::int64_t* values, int count);

/// Throws "<argument>: <value>; accepted: <accepted>".
[[noreturn]] void refuse(nbx_status status, std::string_view argument, std::string_view value,
                         std::string_view accepted);

/// Copies `words` into the caller's buffer, cut at its capacity, NUL-terminated.
void write_message(char* message, std::size_t capacity, std::string_view words);

/// Runs `body` and turns what it throws into a status and a message. An entry point of a kernel is this and no more.
template <class Body>
nbx_status guarded(char* message, std::size_t capacity, const Body& body) {
  try {
    body();
    return NBX_OK;
  } catch (const Refusal& refusal) {
    write_message(message, capacity, refusal.message);
    return refusal.status;
  } catch (const std::exception& error) {
    write_message(message, capacity, error.what());
    return NBX_INTERNAL;
  }
}

}  // namespace nbx::pack
