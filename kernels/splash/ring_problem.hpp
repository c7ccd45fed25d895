// The ring's families, read from one rank's problem. Each rank holds q [B, H, Tq, D] of its own, and a shard of the
// keys: k [B, Hk, Tk, D] and v [B, Hk, Tk, Dv], of one capacity Tk on all ranks. kernels/README.md lists tensors and
// parameters.
#pragma once

#include <vector>

#include "kernels/splash/problem.hpp"

namespace nbx::splash {

inline constexpr int most_ranks = 16;

struct RingSupport {
  const char* family;
  DLDataType format;
  DLDeviceType device;
  bool fixed = true;  // fixed-m where eligible, one direction; else online, both directions
};

struct Ring : Splash {
  int rank = 0, ranks = 1;
  const nbx_communicator* communicator = nullptr;  // null for one rank, and where the problem is only described
  std::vector<std::int64_t> shard_keys;            // real keys of each rank's shard: its first ones
  std::int64_t all_keys = 0;
  bool pregathered = false;  // k_norm2 and v_ok are those of all ranks
  std::optional<pack::Tensor> mk_made, uniform_made;
};

/// Reads and checks one rank's problem; throws a Refusal. `with_data`: tensors have data, and the ranks a communicator.
Ring read_ring(const nbx_problem& problem, const RingSupport& support, bool with_data);

}  // namespace nbx::splash
