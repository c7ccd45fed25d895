// The tile functions over all 2^32 floats: the proof of the bounds that kernels/tile/functions.hpp states, and of the
// hashes that a device is compared with. Minutes of all cores for each function.
#include <gtest/gtest.h>

#include "../function_error.hpp"
#include "../function_hash.hpp"

namespace nbx::tests {
namespace {

class Sweep : public testing::TestWithParam<Function> {};

TEST_P(Sweep, IsWithinItsBound) { expect_within_bound(GetParam(), measure_range(GetParam(), 0, all_floats, 1)); }

INSTANTIATE_TEST_SUITE_P(Functions, Sweep, testing::ValuesIn(functions),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(SweepHashes, AreThoseRecorded) {
  for_each_hashed_function([](auto function, const RecordedHash& recorded) {
    const std::uint64_t hash = hash_of_range(function, 0, all_floats);
    EXPECT_EQ(hash, recorded.all) << recorded.name << std::hex << ": 0x" << hash;
  });
}

}  // namespace
}  // namespace nbx::tests
