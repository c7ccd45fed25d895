// One rank's call of a ring, from its number alone, and the hash of what it gives: the same whoever carries messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/kernels/pack_call.hpp"

namespace nbx::test {

/// A ring kernel, and inputs that go its uniform way, or hop by hop.
struct RingCase {
  const char* kernel;
  float spread;  // of q: 1 is eligible throughout, 200 is not
};
inline constexpr RingCase ring_cases[] = {{"splash.ring.f32", 1},        {"splash.ring.f32", 200},
                                          {"splash.ring.bf16", 1},       {"splash.ring.bf16", 200},
                                          {"splash.ring_online.f32", 1}, {"splash.ring_online.bf16", 200}};

/// Without a communicator.
PackCall ring_call(const RingCase& one, int rank, int ranks);
/// Runs it, and hashes every output with each NaN as one value; throws where it does not run.
std::uint64_t ring_hash(const RingCase& one, int rank, int ranks, const nbx_communicator* communicator);

}  // namespace nbx::test
