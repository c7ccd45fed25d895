// One call of a kernel, as the parent describes it to a child, and what came of it. Knows no family.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/pack/nbx_pack.h"

namespace nbx::contracts {

using Bytes = std::vector<std::byte>;
using SharedBytes = std::shared_ptr<const Bytes>;

/// A tensor of a call. `data` is always dense and row-major: the child lays it out by `strides` in poisoned memory,
/// and gathers outputs back to dense, so a layout is a property of the call and not of the data.
struct CallTensor {
  std::string name;
  nbx_role role = NBX_IN;
  DLDataType dtype{};
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements, >= 0; empty: dense
  std::int64_t offset = 0;            // elements between the start of the storage and element 0
  SharedBytes data;                   // in and in-out; null for outputs
  int shard_axis = -1;  // of a ring: rank r has the r-th of `ranks` equal parts along it; -1: every rank has all of it
};

struct Param {
  std::string name;
  nbx_param_kind kind = NBX_INT;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
};

inline Param int_param(std::string name, std::int64_t value) { return {std::move(name), NBX_INT, value, 0, {}}; }
inline Param real_param(std::string name, double value) { return {std::move(name), NBX_REAL, 0, value, {}}; }
inline Param text_param(std::string name, std::string value) {
  return {std::move(name), NBX_TEXT, 0, 0, std::move(value)};
}

/// What outputs, workspace, gaps between strides, slack and guard zones hold before a run.
enum class Poison : std::uint8_t { ones, zeros, nan, large, larger };

struct Launch {
  nbx_order block_order = NBX_FORWARD;
  nbx_order item_order = NBX_FORWARD;
  std::uint64_t order_seed = 0;
  std::uint32_t threads = 1;
  std::vector<Param> options;
};

/// A buffer of a run beside its tensors: declared, or seen by the tracking allocator. Time counts makings and releases.
struct BufferUse {
  std::string name;
  std::uint64_t bytes = 0;
  std::int64_t made = 0, freed = -1;  // -1: never

  bool operator==(const BufferUse&) const = default;
};

/// What a kernel says that a run takes.
struct Cost {
  std::vector<BufferUse> buffers;
  std::uint64_t peak_bytes = 0, returned_bytes = 0, operations = 0;
};

struct Call {
  std::string kernel;
  std::string family;
  std::vector<CallTensor> tensors;
  std::vector<Param> params;
  std::int32_t rank = 0, ranks = 1;  // of a ring: tensors are those of all ranks, and `rank` is the child's to set
  Launch launch;
  Poison poison = Poison::nan;
  bool tracked = false;       // buffers come one by one from a tracking allocator, and there is no workspace
  std::int64_t refused = -1;  // the buffer, by number, that the allocator refuses; -1: none
};

/// A place outside its rights that the kernel touched, or one that it left out.
struct MemoryFault {
  enum class Kind : std::uint8_t { guard_before, guard_after, gap, input_changed, workspace_guard };
  Kind kind{};
  std::string tensor;       // or "workspace"
  std::int64_t offset = 0;  // first changed byte, relative to element 0 of the tensor
  std::int64_t bytes = 0;   // how many changed
};

struct Outcome {
  enum class Kind : std::uint8_t {
    ran,        // status NBX_OK from can_run, check and run
    refused,    // a status other than NBX_OK; `stage` says from where
    crashed,    // the child died by a signal; `message` names it, and a fault address where there is one
    timed_out,  // ended after the time limit
    broken,     // the pack breaks the interface: unknown kernel, a lie about its workspace, null entry points
  };
  Kind kind = Kind::broken;
  nbx_status status = NBX_OK;
  std::string stage;  // "can_run", "workspace_bytes", "check", "run"
  std::string message;
  std::vector<Bytes> outputs;  // dense; one per tensor of the call with role out, in-out or partial, in order
  std::vector<MemoryFault> faults;
  bool wrote_nothing = true;  // outputs still hold their poison (or their first content) byte for byte
  std::uint64_t workspace_bytes = 0;
  std::vector<BufferUse> buffers;  // of a tracked run
  double seconds = 0;              // of run alone
};

}  // namespace nbx::contracts
