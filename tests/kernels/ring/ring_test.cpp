// The ring over its communicators: the same bits from threads and from processes, and none where a rank is gone.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <future>
#include <sstream>
#include <string>
#include <thread>

#include "contracts/child/in_process_ring.hpp"
#include "tests/kernels/ring/ring_bits.hpp"

namespace nbx::test {
namespace {

using contracts::sandbox::InProcessRing;

std::vector<std::uint64_t> in_process(const RingCase& one, int ranks) {
  InProcessRing ring(ranks, nullptr);
  cpu_pack();  // loaded once, before the threads
  std::vector<std::future<std::uint64_t>> team;
  for (int rank = 0; rank < ranks; ++rank) {
    team.push_back(
        std::async(std::launch::async, [&, rank] { return ring_hash(one, rank, ranks, &ring.communicator(rank)); }));
  }
  std::vector<std::uint64_t> out;
  for (auto& member : team) out.push_back(member.get());
  return out;
}

std::string line_of(const RingCase& one, int ranks) {
  std::ostringstream line;
  line << name_of(one) << ':';
  for (const std::uint64_t hash : in_process(one, ranks)) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), " %016llx", static_cast<unsigned long long>(hash));
    line << text.data();
  }
  return line.str();
}

TEST(Ring, CasesGoEitherWayAndBothInOneCall) {
  for (const RingCase& one : ring_cases) {
    PackCall call = ring_call(one, 0, 1);
    const bool fixed = call.kernel->family == std::string("splash_ring");
    const RingSizes& s = one.sizes;
    const std::int64_t blocks = s.Tq / s.block_q;
    if (fixed) call.add({"mk_made", NBX_OUT, {kDLFloat, 32, 1}, {2, s.B, 2, s.H, blocks}});
    ASSERT_EQ(call.run(), NBX_OK) << call.message;
    if (!fixed) continue;
    EXPECT_EQ(call["uniform_made"].get(0), one.spread == 1 ? 1 : 0) << name_of(one);
    for (std::int64_t i = 0; i < s.H * blocks; ++i) {
      const bool eligible = one.spread == 1 || (one.first_block && i % blocks > 0);
      EXPECT_EQ(call["mk_made"].get(s.H * blocks + i), eligible ? 1 : 0) << name_of(one) << ", block " << i;
    }
  }
}

TEST(Ring, TheSameBitsEveryTimeAndOthersForOtherRanks) {
  for (const RingCase& one : ring_cases) {
    const auto first = in_process(one, 4);
    EXPECT_EQ(in_process(one, 4), first) << one.kernel;
    EXPECT_NE(first[0], first[1]) << one.kernel;
    EXPECT_NE(in_process(one, 2)[0], first[0]) << one.kernel << ": other keys, other bits";
  }
}

/// What a command prints. `status`: as waitpid has it, −1 where it does not start.
std::string printed(const std::string& command, int& status) {
  std::string out;
  status = -1;
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 512> text{};
  while (std::fgets(text.data(), text.size(), pipe) != nullptr) out += text.data();
  status = pclose(pipe);
  return out;
}

#ifdef NBX_RING_MPI
/// What `mpirun -n ranks ring_mpi` prints; as root and on fewer cores than ranks, as it must run anywhere.
std::string over_mpi(int ranks, int& status) {
  return printed(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
      "OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_plm_rsh_agent= '" NBX_MPIRUN "' -n " +
          std::to_string(ranks) + " '" NBX_RING_MPI "'",
      status);
}

TEST(Ring, ProcessesUnderMpiGiveTheBitsOfThreads) {
  for (const int ranks : {1, 2, 4, 8}) {
    std::string expected;
    for (const RingCase& one : ring_cases) expected += line_of(one, ranks) + "\n";
    int status = -1;
    EXPECT_EQ(over_mpi(ranks, status), expected + expected) << ranks << " ranks";
    EXPECT_EQ(status, 0) << ranks << " ranks";
  }
}
#endif

#ifdef NBX_RING_NCCL
TEST(Ring, GpusOverNcclGiveTheBitsOfThreads) {
  int status = -1;
  const std::string out = printed("'" NBX_RING_NCCL "'", status);
  const bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == 77;
  if (skipped) GTEST_SKIP() << out;
  EXPECT_EQ(status, 0) << out;
  EXPECT_THAT(out, testing::HasSubstr("2 GPUs, splash.ring.f32")) << "two GPUs were asked";
}
#endif

TEST(Ring, OneRankIsTheKernelWithoutARing) {
  for (const RingCase& one : {RingCase{"splash.ring_online.f32", 1}, RingCase{"splash.ring_online.bf16", 200}}) {
    PackCall ring = ring_call(one, 0, 1);
    ASSERT_EQ(ring.run(), NBX_OK) << ring.message;
    const std::string format = std::string(one.kernel).ends_with("bf16") ? "bf16" : "f32";
    PackCall plain("splash.online." + format);
    for (const char* name : {"q", "k", "v", "o"}) plain.add(ring[name]);
    plain["o"].fill(0);
    ASSERT_EQ(plain.run(), NBX_OK) << plain.message;
    EXPECT_EQ(plain["o"].all_bits(), ring["o"].all_bits()) << one.kernel;
  }
}

TEST(Ring, RanksWithoutACommunicatorAreRefused) {
  PackCall call = ring_call(ring_cases[0], 0, 2);
  EXPECT_EQ(call.run(), NBX_INVALID);
  EXPECT_NE(call.message.find("communicator: none for 2 ranks"), std::string::npos) << call.message;
  InProcessRing ring(3, nullptr);
  call.communicator = &ring.communicator(1);
  EXPECT_EQ(call.run(), NBX_INVALID);
  EXPECT_NE(call.message.find("rank 1 of 3; accepted: rank 0 of 2"), std::string::npos) << call.message;
}

TEST(InProcessRing, WhoWaitsForARankThatLeftIsTold) {
  InProcessRing ring(2, nullptr);
  PackCall call = ring_call(ring_cases[0], 0, 2);
  call.communicator = &ring.communicator(0);
  std::thread gone([&] { ring.leave(1); });
  EXPECT_EQ(call.run(), NBX_INTERNAL);
  EXPECT_NE(call.message.find("a rank is gone"), std::string::npos) << call.message;
  gone.join();
  EXPECT_EQ(call.run(), NBX_INTERNAL) << "and again";
}

TEST(InProcessRing, MessagesThatDoNotMeetAreRefused) {
  InProcessRing ring(2, nullptr);
  std::array<float, 4> from{1, 2, 3, 4}, to{};
  auto rank_one = std::async(std::launch::async, [&] {
    std::array<float, 4> own{5, 6, 7, 8}, other{};
    const nbx_communicator& group = ring.communicator(1);
    const nbx_status good = group.exchange(&group, own.data(), 0, other.data(), 0, sizeof own, nullptr);
    const bool right = other == std::array<float, 4>{1, 2, 3, 4};
    return good == NBX_OK && right &&
           group.exchange(&group, own.data(), 0, other.data(), 0, 8, nullptr) == NBX_INVALID &&
           group.all_gather(&group, own.data(), other.data(), 8, nullptr) == NBX_INVALID;
  });
  const nbx_communicator& group = ring.communicator(0);
  EXPECT_EQ(group.exchange(&group, from.data(), 1, to.data(), 1, sizeof from, nullptr), NBX_OK);
  EXPECT_EQ(to, (std::array<float, 4>{5, 6, 7, 8}));
  EXPECT_EQ(group.exchange(&group, from.data(), 1, to.data(), 1, 4, nullptr), NBX_INVALID);
  EXPECT_EQ(group.exchange(&group, from.data(), 1, to.data(), 1, 8, nullptr), NBX_INVALID);
  EXPECT_TRUE(rank_one.get());
}

}  // namespace
}  // namespace nbx::test
