// A pack inside the child: opened, held to the interface, and copied out for the parent.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "contracts/child/executor.hpp"
#include "contracts/child/shared_file.hpp"

namespace nbx::contracts::sandbox {

/// Why a pack cannot be used, in words for a person.
struct UnusablePack : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A kernel of the pack. `view` is its struct with zeros where the pack knew less; `self` is what its entries get.
struct LoadedKernel {
  const nbx_kernel* self;
  nbx_kernel view;
};

/// Stays loaded until the process ends: a pack may have started threads.
class LoadedPack {
 public:
  /// Throws UnusablePack. Crashes and hangs are the parent's to see, by `note`.
  LoadedPack(const std::filesystem::path& file, Note& note);

  const PackInfo& info() const { return info_; }
  /// Null where the pack has no such kernel.
  const LoadedKernel* find(std::string_view name) const;
  DLDevice device() const { return info_.device; }
  /// Null where the host's memory serves.
  const nbx_memory* memory() const { return memory_.allocate != nullptr ? &memory_ : nullptr; }

 private:
  std::vector<LoadedKernel> kernels_;
  nbx_memory memory_{};
  PackInfo info_;
};

}  // namespace nbx::contracts::sandbox
