// One rank's call of a ring, from its number alone, and the bits of what it gives: the same whoever carries messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/kernels/pack_call.hpp"

namespace nbx::test {

/// Of one rank: q [B, H, Tq, D], k and v [B, Hk, Tk, D].
struct RingSizes {
  std::int64_t B = 2, H = 4, Hk = 2, Tq = 8, Tk = 21, D = 40, block_q = 4;
};

/// A ring kernel, and inputs that go its uniform way, or hop by hop.
struct RingCase {
  const char* kernel;
  float spread;              // of q: 1 is eligible throughout, 200 is not
  bool first_block = false;  // only the first query block of each head has this spread, the others have 1
  RingSizes sizes = {};
};
inline constexpr RingCase ring_cases[] = {{"splash.ring.f32", 1},         {"splash.ring.f32", 200},
                                          {"splash.ring.bf16", 1},        {"splash.ring.bf16", 200},
                                          {"splash.ring.f32", 200, true}, {"splash.ring.bf16", 200, true},
                                          {"splash.ring_online.f32", 1},  {"splash.ring_online.bf16", 200}};
/// "splash.ring.f32 spread 200 in each first block, Tk 21"
std::string name_of(const RingCase& one);

/// Without a communicator.
PackCall ring_call(const RingCase& one, int rank, int ranks);
/// The bits of every output of a call that ran, each NaN as one value.
std::vector<std::uint32_t> ring_outputs(const PackCall& call);
/// Runs it on the CPU; throws where it does not run.
std::vector<std::uint32_t> ring_bits(const RingCase& one, int rank, int ranks, const nbx_communicator* communicator);
/// Of the bits.
std::uint64_t ring_hash(const RingCase& one, int rank, int ranks, const nbx_communicator* communicator);

}  // namespace nbx::test
