// Slow and exhaustive; registered only with -DNBX_FULL_TESTS=ON.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "oracle/format.hpp"
#include "oracle/plain.hpp"
#include "oracle/reference.hpp"
#include "problems.hpp"

namespace nbx::oracle::testing {
namespace {

/// All 2^32 patterns.
TEST(FullFormat, EveryF32) {
  std::uint64_t checked = 0;
  for (std::uint64_t bits = 0; bits >> 32 == 0; ++bits, ++checked) {
    const auto pattern = static_cast<std::uint32_t>(bits);
    const double value = decode(Format::f32, pattern), host = std::bit_cast<float>(pattern);
    if (std::isnan(host)) {
      ASSERT_TRUE(std::isnan(value)) << pattern;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(host)) << pattern;
      ASSERT_EQ(encode(Format::f32, value), pattern);
    }
  }
  EXPECT_EQ(checked, std::uint64_t{1} << 32);
}

/// Ten million elements, every kind.
TEST(FullEveryBall, HoldsThePlainValue) {
  std::mt19937_64 random(31337);
  const Arithmetic arithmetic = plain_f32();
  std::int64_t compared = 0;
  for (std::size_t round = 0; compared < 10'000'000; ++round) {
    const AttentionSpec spec = random_spec(random, all_kinds()[round % all_kinds().size()]);
    const Attention problem = make(spec);
    const Evaluation evaluation = evaluate(problem.input(), {&arithmetic, 1});
    const auto exact = plain<256>(problem.input());
    for (std::size_t output = 0; output < exact.size(); ++output) {
      for (std::size_t at = 0; at < exact[output].size(); ++at, ++compared) {
        ASSERT_TRUE(admits(evaluation.outputs[output].expected, static_cast<std::int64_t>(at), exact[output][at]))
            << describe(spec) << ", output " << output << ", element " << at;
      }
    }
  }
}

}  // namespace
}  // namespace nbx::oracle::testing
