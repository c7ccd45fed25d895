// The fixture of the tests that call pack run_faults.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/contracts/calls.hpp"

namespace nbx::contracts {

inline void PrintTo(Outcome::Kind kind, std::ostream* out) {
  *out << (kind == Outcome::Kind::ran         ? "ran"
           : kind == Outcome::Kind::refused   ? "refused"
           : kind == Outcome::Kind::crashed   ? "crashed"
           : kind == Outcome::Kind::timed_out ? "timed_out"
                                              : "broken");
}

constexpr Poison poisons[] = {Poison::ones, Poison::zeros, Poison::nan, Poison::large, Poison::larger};

MATCHER_P4(IsFault, kind, tensor, offset, bytes, "") {
  *result_listener << fmt::format("kind {}, {} bytes at {} + {}", static_cast<int>(arg.kind), arg.bytes, arg.tensor,
                                  arg.offset);
  return arg.kind == kind && arg.tensor == tensor && arg.offset == offset && arg.bytes == bytes;
}

class RunFaults : public testing::Test {
 protected:
  Executor executor{test_pack("run_faults"), test_options()};

  /// An honest call right after: the executor has recovered.
  void expect_recovery() {
    const Outcome outcome = executor.execute(small_call("copy.plain"));
    EXPECT_EQ(outcome.kind, Outcome::Kind::ran) << outcome.message;
    EXPECT_THAT(outcome.outputs, testing::ElementsAre(counted(60)));
  }
};

}  // namespace nbx::contracts
