#include "contracts/child/in_process_ring.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace nbx::contracts::sandbox {

InProcessRing::InProcessRing(int ranks, const nbx_memory* device)
    : device_(device), messages_(static_cast<std::size_t>(ranks)), left_(static_cast<std::size_t>(ranks), false) {
  for (int rank = 0; rank < ranks; ++rank) {
    Member& member = members_.emplace_back();
    member.ring = this;
    member.entries = {sizeof(nbx_communicator), rank, ranks, "in-process", &member, exchange, all_gather};
  }
}

void InProcessRing::leave(int rank) {
  const std::lock_guard hold(lock_);
  left_[static_cast<std::size_t>(rank)] = true;
  changed_.notify_all();
}

template <class Take>
nbx_status InProcessRing::meet(int rank, Message message, const Take& take) {
  std::unique_lock hold(lock_);
  const auto posted = [](const Message& one) { return one.posted; };
  const auto forsaken = [&] {
    for (std::size_t r = 0; r < left_.size(); ++r)
      if (left_[r] && !messages_[r].posted) return true;
    return false;
  };
  changed_.wait(hold, [&] { return !complete_; });  // those of the last meeting have all taken
  message.posted = true;
  messages_[static_cast<std::size_t>(rank)] = std::move(message);
  complete_ = std::all_of(messages_.begin(), messages_.end(), posted);
  changed_.notify_all();
  changed_.wait(hold, [&] { return complete_ || forsaken(); });
  if (!complete_) return NBX_INTERNAL;
  const nbx_status status = take(messages_);
  if (++taken_ == messages_.size()) {
    for (Message& one : messages_) one = {};
    taken_ = 0;
    complete_ = false;
    changed_.notify_all();
  }
  return status;
}

nbx_status InProcessRing::exchange(const nbx_communicator* self, const void* send, int32_t to, void* receive,
                                   int32_t from, uint64_t bytes, void*) {
  InProcessRing& ring = *static_cast<Member*>(self->handle)->ring;
  if (to < 0 || to >= self->ranks || from < 0 || from >= self->ranks) return NBX_INVALID;
  Message message{.to = to, .bytes = std::vector<std::byte>(bytes)};
  if (const nbx_status status = ring.copy_out(message.bytes.data(), send, bytes); status != NBX_OK) return status;
  return ring.meet(self->rank, std::move(message), [&](const std::vector<Message>& all) -> nbx_status {
    const Message& one = all[static_cast<std::size_t>(from)];
    if (one.to != self->rank || one.bytes.size() != bytes) return NBX_INVALID;
    return ring.copy_in(receive, one.bytes.data(), bytes);
  });
}

nbx_status InProcessRing::all_gather(const nbx_communicator* self, const void* send, void* receive, uint64_t bytes,
                                     void*) {
  InProcessRing& ring = *static_cast<Member*>(self->handle)->ring;
  Message message{.to = -1, .bytes = std::vector<std::byte>(bytes)};
  if (const nbx_status status = ring.copy_out(message.bytes.data(), send, bytes); status != NBX_OK) return status;
  return ring.meet(self->rank, std::move(message), [&](const std::vector<Message>& all) -> nbx_status {
    auto* to = static_cast<std::byte*>(receive);
    for (const Message& one : all) {
      if (one.to != -1 || one.bytes.size() != bytes) return NBX_INVALID;
      if (const nbx_status status = ring.copy_in(to, one.bytes.data(), bytes); status != NBX_OK) return status;
      to += bytes;
    }
    return NBX_OK;
  });
}

nbx_status InProcessRing::copy_out(void* host, const void* memory, std::size_t bytes) const {
  if (bytes == 0) return NBX_OK;
  if (device_ != nullptr) return device_->copy_out(host, memory, bytes);
  std::memcpy(host, memory, bytes);
  return NBX_OK;
}

nbx_status InProcessRing::copy_in(void* memory, const void* host, std::size_t bytes) const {
  if (bytes == 0) return NBX_OK;
  if (device_ != nullptr) return device_->copy_in(memory, host, bytes);
  std::memcpy(memory, host, bytes);
  return NBX_OK;
}

}  // namespace nbx::contracts::sandbox
