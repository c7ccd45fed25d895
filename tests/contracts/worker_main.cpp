// `worker --pack FILE --socket N`: the child of the tests. `hold PACK KERNEL`: a parent that calls one kernel without
// data, for tests that end the parent.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "contracts/child/executor.hpp"

int main(int argc, char** argv) {
  using std::string_view;
  if (argc == 6 && string_view(argv[1]) == "worker") return nbx::contracts::worker_main(argv[3], std::atoi(argv[5]));
  if (argc == 4 && string_view(argv[1]) == "hold") {
    nbx::contracts::Executor executor(argv[2], {});
    nbx::contracts::Call call;
    call.kernel = argv[3];
    call.family = "copy";
    return executor.execute(call).kind == nbx::contracts::Outcome::Kind::ran ? 0 : 1;
  }
  std::fputs("usage: test_worker worker --pack FILE --socket N | hold PACK KERNEL\n", stderr);
  return 2;
}
