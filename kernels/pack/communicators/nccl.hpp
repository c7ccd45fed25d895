// A ring's communicator over NCCL, one GPU a rank: messages go from device to device in the order of the stream.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdint>

#include "kernels/pack/nbx_pack.h"

namespace nbx::pack {

/// Of all ranks of `group`, which must outlive this.
class NcclCommunicator {
 public:
  explicit NcclCommunicator(ncclComm_t group) : group_(group) {
    int rank = 0, ranks = 1;
    valid_ = ncclCommUserRank(group, &rank) == ncclSuccess && ncclCommCount(group, &ranks) == ncclSuccess;
    entries_ = {sizeof(nbx_communicator), rank, ranks, "nccl", this, exchange, all_gather};
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  /// False where NCCL does not know the group.
  bool valid() const { return valid_; }
  const nbx_communicator& entries() const { return entries_; }

 private:
  static ncclComm_t group_of(const nbx_communicator* self) {
    return static_cast<NcclCommunicator*>(self->handle)->group_;
  }
  static nbx_status status_of(ncclResult_t result) {
    return result == ncclSuccess ? NBX_OK : result == ncclInvalidArgument ? NBX_INVALID : NBX_DEVICE_ERROR;
  }

  static nbx_status exchange(const nbx_communicator* self, const void* send, int32_t to, void* receive, int32_t from,
                             uint64_t bytes, void* stream) {
    const ncclComm_t group = group_of(self);
    const auto order = static_cast<cudaStream_t>(stream);
    ncclResult_t result = ncclGroupStart();
    if (result != ncclSuccess) return status_of(result);
    result = ncclSend(send, bytes, ncclUint8, to, group, order);
    if (result == ncclSuccess) result = ncclRecv(receive, bytes, ncclUint8, from, group, order);
    const ncclResult_t ended = ncclGroupEnd();
    return status_of(result == ncclSuccess ? ended : result);
  }

  static nbx_status all_gather(const nbx_communicator* self, const void* send, void* receive, uint64_t bytes,
                               void* stream) {
    return status_of(ncclAllGather(send, receive, bytes, ncclUint8, group_of(self), static_cast<cudaStream_t>(stream)));
  }

  ncclComm_t group_;
  bool valid_ = false;
  nbx_communicator entries_{};
};

}  // namespace nbx::pack
