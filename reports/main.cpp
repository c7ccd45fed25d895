// nbx-contract. A child that holds a pack is this same program, called with words of its own.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "contracts/child/executor.hpp"
#include "reports/cli.hpp"
#include "reports/exit_code.hpp"

int main(int argc, char** argv) {
  using std::string_view;
  // A run makes and drops matrices of megabytes all the time. Kept by the allocator they cost nothing; given back and
  // taken anew, a page fault for each 4 KiB.
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  if (argc >= 2 && string_view(argv[1]) == "worker") {
    if (argc != 6 || string_view(argv[2]) != "--pack" || string_view(argv[4]) != "--socket") {
      std::fputs("nbx-contract: worker is started by the command itself\n", stderr);
      return nbx::reports::exit_usage;
    }
    return nbx::contracts::worker_main(argv[3], std::atoi(argv[5]));
  }
  return nbx::reports::run_command(argc, argv);
}
