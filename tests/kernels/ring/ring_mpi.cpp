// `mpirun -n R ring_mpi`: the cases of ring_bits.hpp with a process a rank. Rank 0 prints the hashes, one case a line,
// one number a rank.
#include <cstdio>
#include <exception>
#include <vector>

#include "kernels/pack/communicators/mpi.hpp"
#include "tests/kernels/ring/ring_bits.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    const nbx::pack::MpiCommunicator communicator(MPI_COMM_WORLD);
    const nbx_communicator& group = communicator.entries();
    for (const nbx::test::RingCase& one : nbx::test::ring_cases) {
      const std::uint64_t hash = nbx::test::ring_hash(one, group.rank, group.ranks, &group);
      std::vector<std::uint64_t> all(static_cast<std::size_t>(group.ranks));
      MPI_Gather(&hash, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
      if (group.rank != 0) continue;
      std::printf("%s %g", one.kernel, static_cast<double>(one.spread));
      for (const std::uint64_t number : all) std::printf(" %016llx", static_cast<unsigned long long>(number));
      std::printf("\n");
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ring_mpi: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
