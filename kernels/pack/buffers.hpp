// The buffers of one run: from the launch's allocator where it has one, else from its workspace, one behind the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "kernels/pack/problem.hpp"

namespace nbx::pack {

/// Buffers are released in reverse, the last made first, when this ends. All are to be taken before the first launch.
class Buffers {
 public:
  /// `what` is running, with its shapes, for the error of a refused buffer.
  Buffers(const nbx_launch& how, std::uint64_t workspace_bytes, std::string what)
      : allocator_(how.allocator), what_(std::move(what)) {
    if (allocator_ == nullptr) next_ = require_workspace(how, workspace_bytes);
  }
  ~Buffers() {
    for (std::size_t i = taken_.size(); i-- > 0;) allocator_->release(allocator_, taken_[i]);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  /// Throws a Refusal of NBX_OUT_OF_MEMORY. Nothing is tried in its place.
  template <class T>
  T* take(const char* name, std::uint64_t bytes) {
    if (allocator_ == nullptr) {
      std::byte* const place = next_;
      next_ += round_up(bytes);
      return reinterpret_cast<T*>(place);
    }
    void* const memory = allocator_->allocate(allocator_, name, bytes);
    if (memory == nullptr) {
      throw Refusal{NBX_OUT_OF_MEMORY, std::string(name) + ": " + std::to_string(bytes) + " bytes refused by the " +
                                           "device's allocator, of which this run holds " + std::to_string(held_) +
                                           " bytes in " + std::to_string(taken_.size()) + " buffers; " + what_};
    }
    taken_.push_back(memory);
    held_ += bytes;
    return static_cast<T*>(memory);
  }

 private:
  nbx_allocator* allocator_;
  std::string what_;
  std::byte* next_ = nullptr;
  std::uint64_t held_ = 0;
  std::vector<void*> taken_;
};

/// Declares buffers that are made in this order and released in reverse.
inline void declare_nested(nbx_cost& cost, std::initializer_list<std::pair<const char*, std::uint64_t>> buffers) {
  const auto count = static_cast<std::uint32_t>(buffers.size());
  for (const auto& [name, bytes] : buffers) {
    const std::uint32_t made = cost.buffer_count++;
    cost.buffers[made] = {sizeof(nbx_buffer), name, bytes, made, 2 * count - 1 - made};
    cost.peak_bytes += bytes;
  }
}

}  // namespace nbx::pack
