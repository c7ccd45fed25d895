// `mpirun -n R ring_mpi`: the cases of ring_bits.hpp with a process a rank. Rank 0 prints the hashes, one case a line,
// one number a rank; then all of it again with messages that go through the copy functions of a device, here the host.
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <vector>

#include "kernels/pack/communicators/mpi.hpp"
#include "tests/kernels/ring/ring_bits.hpp"

namespace {

std::uint64_t copies = 0;

nbx_status copy(void* to, const void* from, std::uint64_t bytes) {
  std::memcpy(to, from, bytes);
  ++copies;
  return NBX_OK;
}

void print_hashes(const nbx_communicator& group) {
  for (const nbx::test::RingCase& one : nbx::test::ring_cases) {
    const std::uint64_t hash = nbx::test::ring_hash(one, group.rank, group.ranks, &group);
    std::vector<std::uint64_t> all(static_cast<std::size_t>(group.ranks));
    MPI_Gather(&hash, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (group.rank != 0) continue;
    std::printf("%s:", nbx::test::name_of(one).c_str());
    for (const std::uint64_t number : all) std::printf(" %016llx", static_cast<unsigned long long>(number));
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    print_hashes(nbx::pack::MpiCommunicator(MPI_COMM_WORLD).entries());
    nbx_memory memory{};
    memory.struct_size = sizeof memory;
    memory.copy_in = memory.copy_out = copy;
    const nbx::pack::MpiCommunicator through_memory(MPI_COMM_WORLD, &memory);
    print_hashes(through_memory.entries());
    if ((copies > 0) != (through_memory.entries().ranks > 1)) throw std::runtime_error("messages went another way");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ring_mpi: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
