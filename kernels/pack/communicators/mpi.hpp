// A ring's communicator over MPI, for ranks that are processes. Memory that is not the host's goes through the host, by
// the device's copy functions.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/pack/nbx_pack.h"

namespace nbx::pack {

/// Of all ranks of `group`; must outlive the calls that use it. Not thread-safe.
class MpiCommunicator {
 public:
  /// `device`: null where memory is the host's.
  explicit MpiCommunicator(MPI_Comm group, const nbx_memory* device = nullptr) : group_(group), device_(device) {
    int rank = 0, ranks = 1;
    MPI_Comm_set_errhandler(group, MPI_ERRORS_RETURN);
    MPI_Comm_rank(group, &rank);
    MPI_Comm_size(group, &ranks);
    entries_ = {sizeof(nbx_communicator), rank, ranks, "mpi", this, exchange, all_gather};
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  const nbx_communicator& entries() const { return entries_; }

 private:
  static constexpr std::uint64_t piece = std::uint64_t{1} << 30;  // bytes; counts of MPI are int

  static MpiCommunicator& of(const nbx_communicator* self) { return *static_cast<MpiCommunicator*>(self->handle); }
  static nbx_status status_of(int code) { return code == MPI_SUCCESS ? NBX_OK : NBX_INTERNAL; }

  static nbx_status exchange(const nbx_communicator* self, const void* send, int32_t to, void* receive, int32_t from,
                             uint64_t bytes, void*) {
    const MpiCommunicator& one = of(self);
    return one.through_host(send, bytes, receive, bytes, [&](const std::byte* out, std::byte* in) {
      for (std::uint64_t at = 0; at < bytes; at += piece) {
        const int count = static_cast<int>(std::min(piece, bytes - at));
        const int code = MPI_Sendrecv(out + at, count, MPI_BYTE, to, 0, in + at, count, MPI_BYTE, from, 0, one.group_,
                                      MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return NBX_INTERNAL;
      }
      return NBX_OK;
    });
  }

  static nbx_status all_gather(const nbx_communicator* self, const void* send, void* receive, uint64_t bytes, void*) {
    const MpiCommunicator& one = of(self);
    if (bytes > piece) return NBX_UNSUPPORTED;  // what is gathered are norms and flags
    const int count = static_cast<int>(bytes);
    return one.through_host(send, bytes, receive, bytes * static_cast<std::uint64_t>(self->ranks),
                            [&](const std::byte* out, std::byte* in) {
                              return status_of(MPI_Allgather(out, count, MPI_BYTE, in, count, MPI_BYTE, one.group_));
                            });
  }

  template <class Transfer>
  nbx_status through_host(const void* send, std::uint64_t sent, void* receive, std::uint64_t received,
                          const Transfer& transfer) const {
    if (device_ == nullptr) return transfer(static_cast<const std::byte*>(send), static_cast<std::byte*>(receive));
    std::vector<std::byte> out(sent), in(received);
    nbx_status status = device_->copy_out(out.data(), send, sent);
    if (status == NBX_OK) status = transfer(out.data(), in.data());
    return status == NBX_OK ? device_->copy_in(receive, in.data(), received) : status;
  }

  MPI_Comm group_;
  const nbx_memory* device_;
  nbx_communicator entries_{};
};

}  // namespace nbx::pack
