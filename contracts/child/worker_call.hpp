// The child's side of one call: a kernel's entry points under guarded memory.
#pragma once

#include <deque>
#include <memory>

#include "contracts/child/guarded_memory.hpp"
#include "contracts/child/loaded_pack.hpp"
#include "contracts/child/rank_run.hpp"
#include "contracts/child/shared_file.hpp"
#include "contracts/child/wire.hpp"

namespace nbx::contracts::sandbox {

class CallRunner {
 public:
  CallRunner(const LoadedPack& pack, SharedFile& file);
  ~CallRunner();
  CallRunner(const CallRunner&) = delete;
  CallRunner& operator=(const CallRunner&) = delete;

  /// Every operation but open. What the harness itself could not do stands in the answer's error.
  wire::Answer answer(const wire::Request& request);

 private:
  void dispatch(const LoadedKernel& kernel, const wire::Request& request, wire::Answer& answer);
  void run_guarded(const LoadedKernel& kernel, const wire::Request& request, wire::Answer& answer);
  /// The ranks of a ring as threads; false where outputs never came to be.
  bool run_ranks(std::deque<RankRun>& ranks, wire::Operation operation);
  void add_zone(const Zone& zone);

  const LoadedPack& pack_;
  SharedFile& file_;
  std::unique_ptr<Memory> memory_;
  HostMemory messages_;
  Block message_;  // ends at a protected page: a message cut too late is a crash
};

}  // namespace nbx::contracts::sandbox
