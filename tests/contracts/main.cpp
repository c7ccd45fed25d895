// The tests' own program, which is also the children's where a test goes through the runner's own parts: they start
// /proc/self/exe.
#include <gmock/gmock.h>

#include <cstdlib>
#include <string_view>

#include "contracts/child/executor.hpp"

int main(int argc, char** argv) {
  if (argc == 6 && std::string_view(argv[1]) == "worker") {
    return nbx::contracts::worker_main(argv[3], std::atoi(argv[5]));
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
