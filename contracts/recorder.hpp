// Makes a record: the fingerprints of what kernels give, problem by problem, without judging them.
#pragma once

#include <atomic>
#include <functional>

#include "contracts/records.hpp"
#include "contracts/runner.hpp"

namespace nbx::contracts {

/// A case that gave no outputs though the kernel serves it.
struct FailedCase {
  std::string kernel, problem, message;
};

struct Recording {
  Record record;
  std::int64_t cases = 0;
  std::vector<FailedCase> failed;
  std::vector<std::string> problems;  // the same in words, and packs that did not load
  std::vector<std::string> notes;
};

/// Runs the plain call of every selected kernel on every problem of the tier. All kernels of one record are of one
/// device: options.device, or the CPU.
/// `keep` is given every output, from any thread.
using KeepOutput = std::function<void(const std::string& kernel, const std::string& problem, const CallTensor& output,
                                      const Bytes& bytes)>;
Recording record(const RunOptions& options, const std::atomic<bool>& stop, const KeepOutput& keep = {});

}  // namespace nbx::contracts
