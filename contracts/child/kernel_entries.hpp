// The entry points of one kernel for one call, each step held to the interface.
#pragma once

#include <string>
#include <vector>

#include "contracts/call.hpp"
#include "contracts/child/guarded_memory.hpp"
#include "contracts/child/loaded_pack.hpp"
#include "contracts/child/placement.hpp"
#include "contracts/child/shared_file.hpp"

namespace nbx::contracts::sandbox {

/// The structs of the C interface for one call. Data pointers are forbidden addresses until tensors are placed: shapes
/// may be read, data may not. Throws std::invalid_argument where a tensor's layout is none.
class CallStructs {
 public:
  CallStructs(const Call& call, DLDevice device);
  CallStructs(const CallStructs&) = delete;
  CallStructs& operator=(const CallStructs&) = delete;

  void place(std::size_t tensor, const Placement& placement);

  nbx_problem problem{};
  nbx_launch launch{};

 private:
  DLDevice device_;
  std::vector<nbx_param> params_, options_;
  std::vector<std::vector<std::int64_t>> shapes_, strides_;
  std::vector<nbx_tensor> tensors_;
  std::vector<const nbx_tensor*> pointers_;
};

/// Each step leaves its stage in the note and its refusal or breach in the outcome, and says whether the next may come.
class KernelEntries {
 public:
  /// `message` is guarded memory that the entries write their messages to.
  KernelEntries(const LoadedKernel& kernel, CallStructs& structs, Note& note, const Block& message, Outcome& outcome);

  bool can_run();
  bool arithmetic(nbx_arithmetic& out);
  /// The explanation is the outcome's message.
  bool explain();
  bool cost(Cost& out);
  /// Twice: a second answer that differs, or more than 64 GiB, breaks the interface.
  bool workspace_bytes();
  bool check();
  /// With the device's synchronise where there is one; a failure of that is a crash of the run.
  bool run(const nbx_memory* device);

  /// Forgets a refusal, to go on without what was refused.
  void go_on();

 private:
  template <class F>
  bool step(Stage stage, F entry);
  bool broken(std::string why);
  char* text() const { return reinterpret_cast<char*>(message_.storage); }
  std::size_t capacity() const { return static_cast<std::size_t>(message_.bytes); }

  const LoadedKernel& kernel_;
  CallStructs& structs_;
  Note& note_;
  const Block& message_;
  Outcome& outcome_;
};

}  // namespace nbx::contracts::sandbox
