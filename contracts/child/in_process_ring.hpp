// The ranks of a ring as threads of one process: how they talk.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "kernels/pack/nbx_pack.h"

namespace nbx::contracts::sandbox {

/// Messages go through the host: by the device's copy functions, or as they are where memory is the host's. Every call
/// is one meeting of all ranks. A rank that meets the others for something else, with another size or another partner
/// gets NBX_INVALID; one that would wait for a rank that has left gets NBX_INTERNAL.
class InProcessRing {
 public:
  /// `device`: null where memory is the host's. Must outlive this.
  InProcessRing(int ranks, const nbx_memory* device);
  InProcessRing(const InProcessRing&) = delete;
  InProcessRing& operator=(const InProcessRing&) = delete;

  const nbx_communicator& communicator(int rank) const { return members_[static_cast<std::size_t>(rank)].entries; }
  /// The rank makes no more calls; whoever waits for it goes on without.
  void leave(int rank);

 private:
  struct Member {
    nbx_communicator entries{};
    InProcessRing* ring = nullptr;
  };
  struct Message {
    int to = -1;  // -1: to all
    std::vector<std::byte> bytes;
    bool posted = false;
  };

  static nbx_status exchange(const nbx_communicator* self, const void* send, int32_t to, void* receive, int32_t from,
                             uint64_t bytes, void* stream);
  static nbx_status all_gather(const nbx_communicator* self, const void* send, void* receive, uint64_t bytes,
                               void* stream);
  /// Posts, waits for all, hands the messages of all to `take`, and ends the meeting when all have taken.
  template <class Take>
  nbx_status meet(int rank, Message message, const Take& take);
  nbx_status copy_out(void* host, const void* memory, std::size_t bytes) const;
  nbx_status copy_in(void* memory, const void* host, std::size_t bytes) const;

  const nbx_memory* device_;
  std::deque<Member> members_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<Message> messages_;
  std::vector<bool> left_;
  std::size_t taken_ = 0;
  bool complete_ = false;
};

}  // namespace nbx::contracts::sandbox
