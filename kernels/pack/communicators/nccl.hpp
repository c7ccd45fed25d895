// A ring's communicator over NCCL, one GPU a rank: messages go from device to device in the order of the stream. No
// rank waits for ever: what is not done within a time is given up, with NCCL's words for it.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "kernels/pack/nbx_pack.h"

namespace nbx::pack {

/// One rank of a group, on the GPU that is current where it is made. Not thread-safe. A call that fails gives the whole
/// group up, as others would wait for this rank: `words` then says why, and every later call fails.
class NcclCommunicator {
 public:
  using Limit = std::chrono::milliseconds;

  /// Meets the other ranks of `group`, each of which makes its own within `limit`.
  NcclCommunicator(const ncclUniqueId& group, int rank, int ranks, Limit limit) : limit_(limit) {
    entries_ = {sizeof(nbx_communicator), rank, ranks, "nccl", this, exchange, all_gather};
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // else the first exchange waits inside NCCL for a rank that may be gone
    settle("group", ncclCommInitRankConfig(&group_, ranks, group, rank, &config));
  }
  ~NcclCommunicator() {
    if (valid() && settle("end of the group", ncclCommFinalize(group_)) == NBX_OK) ncclCommDestroy(group_);
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  /// False once the group is given up.
  bool valid() const { return group_ != nullptr; }
  /// What was tried, and what NCCL said; empty while nothing has failed.
  const std::string& words() const { return words_; }
  const nbx_communicator& entries() const { return entries_; }
  /// How long each later call waits for the other ranks.
  void set_limit(Limit limit) { limit_ = limit; }

  /// An exchange that is NBX_OK is enqueued, not done. Waits for all that `stream` holds; its results count only where
  /// this is NBX_OK.
  nbx_status wait(cudaStream_t stream) {
    const auto end = Clock::now() + limit_;
    while (valid()) {
      const cudaError_t state = cudaStreamQuery(stream);
      if (state == cudaSuccess) return NBX_OK;
      if (state != cudaErrorNotReady) return give_up("stream", cudaGetErrorString(state));
      ncclResult_t result = ncclSuccess;
      const ncclResult_t asked = ncclCommGetAsyncError(group_, &result);
      if (asked != ncclSuccess || (result != ncclSuccess && result != ncclInProgress))
        return give_up("stream", said(asked != ncclSuccess ? asked : result));
      if (Clock::now() > end) return give_up("stream", late());
      std::this_thread::sleep_for(pause);
    }
    return NBX_DEVICE_ERROR;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds pause{20};

  static NcclCommunicator& of(const nbx_communicator* self) { return *static_cast<NcclCommunicator*>(self->handle); }
  static bool goes_on(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }

  static nbx_status exchange(const nbx_communicator* self, const void* send, int32_t to, void* receive, int32_t from,
                             uint64_t bytes, void* stream) {
    NcclCommunicator& one = of(self);
    if (!one.valid()) return NBX_DEVICE_ERROR;
    const auto order = static_cast<cudaStream_t>(stream);
    ncclResult_t result = ncclGroupStart();
    if (result == ncclSuccess) {
      result = ncclSend(send, bytes, ncclUint8, to, one.group_, order);
      if (goes_on(result)) result = ncclRecv(receive, bytes, ncclUint8, from, one.group_, order);
      const ncclResult_t ended = ncclGroupEnd();
      if (goes_on(result)) result = ended;
    }
    return one.settle("exchange", result);
  }

  static nbx_status all_gather(const nbx_communicator* self, const void* send, void* receive, uint64_t bytes,
                               void* stream) {
    NcclCommunicator& one = of(self);
    if (!one.valid()) return NBX_DEVICE_ERROR;
    return one.settle("all_gather",
                      ncclAllGather(send, receive, bytes, ncclUint8, one.group_, static_cast<cudaStream_t>(stream)));
  }

  /// Waits until NCCL has taken up what it calls in progress.
  nbx_status settle(const char* what, ncclResult_t result) {
    const auto end = Clock::now() + limit_;
    while (result == ncclInProgress) {
      if (Clock::now() > end) return give_up(what, late());
      std::this_thread::sleep_for(pause);
      const ncclResult_t asked = ncclCommGetAsyncError(group_, &result);
      if (asked != ncclSuccess) result = asked;
    }
    if (result == ncclSuccess) return NBX_OK;
    give_up(what, said(result));
    return result == ncclInvalidArgument || result == ncclInvalidUsage ? NBX_INVALID : NBX_DEVICE_ERROR;
  }

  std::string said(ncclResult_t result) const {
    return std::string(ncclGetErrorString(result)) + ": " + ncclGetLastError(group_);
  }
  std::string late() const {
    return "not done within " + std::to_string(limit_.count()) + " ms: a rank is gone, or calls something else";
  }

  nbx_status give_up(const char* what, const std::string& why) {
    words_ = std::string(what) + ": " + why;
    if (group_ != nullptr) ncclCommAbort(group_);  // ends what waits on the device, too
    group_ = nullptr;
    return NBX_DEVICE_ERROR;
  }

  ncclComm_t group_ = nullptr;
  Limit limit_;
  std::string words_;
  nbx_communicator entries_{};
};

}  // namespace nbx::pack
