// nbx-contract. A child that holds a pack is this same program, called with words of its own.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "contracts/child/executor.hpp"
#include "reports/cli.hpp"
#include "reports/exit_code.hpp"

int main(int argc, char** argv) {
  using std::string_view;
  if (argc >= 2 && string_view(argv[1]) == "worker") {
    if (argc != 6 || string_view(argv[2]) != "--pack" || string_view(argv[4]) != "--socket") {
      std::fputs("nbx-contract: worker is started by the command itself\n", stderr);
      return nbx::reports::exit_usage;
    }
    return nbx::contracts::worker_main(argv[3], std::atoi(argv[5]));
  }
  return nbx::reports::run_command(argc, argv);
}
