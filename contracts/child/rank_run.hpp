// One rank's part of a call: its share of the tensors in guarded memory, and the kernel's entries on them. A call
// without a ring is one rank, whose share is everything.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "contracts/child/kernel_entries.hpp"
#include "contracts/child/loaded_pack.hpp"
#include "contracts/child/tracking_allocator.hpp"
#include "contracts/child/wire.hpp"

namespace nbx::contracts::sandbox {

/// The call as rank `rank` gets it: of a tensor with a shard axis its own shard.
/// Throws std::invalid_argument where an axis does not divide by the ranks, or an output is not sharded.
Call call_of_rank(const Call& call, int rank);

class RankRun {
 public:
  /// `dense`: where each tensor's dense data lies, whole; nullptr for calls without data. `message`: guarded memory.
  /// All must outlive this.
  RankRun(const Call& whole, int rank, std::vector<std::byte*> dense, const LoadedPack& pack,
          const LoadedKernel& kernel, Note& note, const Block& message);
  RankRun(const RankRun&) = delete;
  RankRun& operator=(const RankRun&) = delete;

  KernelEntries& entries() { return entries_; }
  Outcome& outcome() { return outcome_; }
  const Call& call() const { return call_; }

  /// Lays everything out in `memory`. workspace_bytes comes first.
  void place(Memory& memory, const nbx_communicator* communicator);
  std::vector<Zone> zones() const;
  /// After the run: outputs to their dense places, and what was touched that may not be.
  void gather();

 private:
  std::int64_t shard_bytes(std::size_t tensor) const;
  /// Between a sharded tensor's dense data and this rank's copy of its shard.
  void copy_shard(std::size_t tensor, bool back);

  const Call& whole_;
  Call call_;
  int rank_;
  std::vector<std::byte*> dense_;  // of the whole tensors
  std::vector<Bytes> shard_;       // of sharded ones, dense
  Outcome outcome_;
  CallStructs structs_;
  const LoadedKernel& kernel_;
  KernelEntries entries_;
  std::vector<std::unique_ptr<Placement>> tensors_;
  std::optional<Workspace> workspace_;
  std::optional<TrackingAllocator> allocator_;
};

/// What came of all ranks as one outcome: that of the first that stumbled by itself, and everybody's faults.
void join_outcomes(std::vector<Outcome*> ranks, Outcome& whole);

}  // namespace nbx::contracts::sandbox
