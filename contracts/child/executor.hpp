// The parent's side of the child processes that hold the packs.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contracts/call.hpp"

namespace nbx::contracts {

/// What a pack says of itself, copied out of the child.
struct AxisInfo {
  std::string option, clause;  // clause empty where bits may differ along it
  std::vector<std::int64_t> values;
};
struct EqualityInfo {
  std::string clause, other, reason;  // reason empty where promised
};
struct ControlInfo {
  std::string mutates, planted;
  std::vector<std::string> red_at, problems;
  std::string verdict;
  bool crashes = false;
};
struct KernelInfo {
  std::string name, family;
  DLDataType format{};
  std::vector<std::string> optional_outputs;
  std::uint32_t alignment = 1;
  std::vector<AxisInfo> axes;
  std::vector<EqualityInfo> equalities;
  std::optional<ControlInfo> control;
  std::optional<nbx_limits> limits;
  bool declares_cost = false;
  std::string symbol, unit;
};
struct PackInfo {
  std::string name, device_name, imitates, toolchain, flags, compile_commands, driver;
  DLDevice device{};
  bool can_guard = true;
  std::vector<KernelInfo> kernels;
};

/// A pack that could not be opened: not a pack, another interface version, crashed or hung on load.
struct PackError {
  std::filesystem::path file;
  std::string reason;
};

/// One child process that holds one pack. A crash or a time-out ends the child; the next call starts a new one.
/// Not thread-safe: one per runner thread and pack.
/// Every call throws std::invalid_argument where its own layout or data make no sense, and std::runtime_error where the
/// harness fails (no memory, no process): errors of the harness, never of the kernel.
class Executor {
 public:
  struct Options {
    std::chrono::milliseconds timeout{20'000};  // per call, and for loading the pack
    /// The program that the child runs: its command line `worker --pack FILE --socket N` must lead to worker_main.
    std::filesystem::path worker{"/proc/self/exe"};
  };
  /// Starts no process yet.
  Executor(std::filesystem::path pack, Options options);
  ~Executor();  // ends the child
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;

  /// Loads the pack in a child. Either what it says, or why it cannot be used.
  std::optional<PackInfo> open(PackError* error);

  /// can_run alone; Outcome::ran where the kernel would serve the call.
  Outcome can_run(const Call& call);

  /// The declared arithmetic of a problem; the outcome's message where it has none.
  std::optional<nbx_arithmetic> arithmetic(const Call& call, std::string* message);

  /// The declared cost of a call; the outcome's message where there is none.
  std::optional<Cost> cost(const Call& call, std::string* message);

  /// What the kernel decides for a call, as the message of Outcome::ran; refused where it has nothing to say.
  Outcome explain(const Call& call);

  /// can_run, workspace_bytes, check, run, under the call's conditions.
  Outcome execute(const Call& call);

  /// For refusals: check alone, and run without check, then compare memory. Neither asks can_run, and both go on with a
  /// workspace of no byte where workspace_bytes refuses, as each entry must refuse by itself.
  Outcome check_only(const Call& call);
  Outcome run_unchecked(const Call& call);

  /// How often a child had to be started again.
  int restarts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The child's main loop: `nbx-contract worker --pack FILE --socket N`. Descriptor N is inherited, and so is the memory
/// file of tensor data, N + 1. Returns the exit code; where all goes well it does not return.
int worker_main(const std::filesystem::path& pack, int socket);

/// Ends every child of this process at once; safe in a signal handler.
void end_all_children() noexcept;

}  // namespace nbx::contracts
