// Children that end: by their kernels, by the time limit, with their parent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/contracts/run_faults.hpp"

namespace nbx::contracts {
namespace {

using testing::HasSubstr;
using Kind = Outcome::Kind;

/// Those that this thread of a process started, ended ones included.
std::vector<pid_t> children_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/children", pid, pid));
  std::vector<pid_t> children;
  for (pid_t child; file >> child;) children.push_back(child);
  return children;
}

bool ends_within(pid_t process, std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < deadline) {
    std::ifstream stat(fmt::format("/proc/{}/stat", process));
    std::string pid, name, state;
    if (!(stat >> pid >> name >> state) || state == "Z" || state == "X") {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // other threads of it may still hold its socket
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST_F(RunFaults, CrashesAreToldApart) {
  const std::pair<const char*, const char*> expected[] = {
      {"copy.crash", "SIGSEGV in run: write at address 0x1000"},
      {"copy.abort", "SIGABRT in run"},
      {"copy.killed", "ended by SIGKILL in run"},
      {"copy.exits", "the process ended in run with exit code 7"},
      {"copy.read_early", "SIGSEGV in can_run: read of x, at its start + 0 bytes"}};
  int crashes = 0;
  for (const auto& [kernel, message] : expected) {
    const Outcome outcome = executor.execute(small_call(kernel));
    EXPECT_EQ(outcome.kind, Kind::crashed);
    EXPECT_EQ(outcome.message, message);
    expect_recovery();
    EXPECT_EQ(executor.restarts(), ++crashes);
  }
}

TEST_F(RunFaults, ACrashBetweenCallsIsToldByTheNext) {
  ASSERT_EQ(executor.execute(small_call("copy.crash_later")).kind, Kind::ran);
  const std::vector<pid_t> children = children_of(getpid());
  ASSERT_EQ(children.size(), 1u);
  ASSERT_TRUE(ends_within(children[0], std::chrono::seconds(20)));
  const Outcome outcome = executor.execute(small_call("copy.plain"));
  EXPECT_EQ(outcome.kind, Kind::crashed);
  EXPECT_EQ(outcome.message, "between calls, after one of copy.crash_later: SIGABRT in the harness");
  expect_recovery();
}

TEST_F(RunFaults, ExceptionsThatEscapeBreakTheInterface) {
  const Outcome outcome = executor.execute(small_call("copy.throws"));
  EXPECT_EQ(outcome.kind, Kind::broken);
  EXPECT_EQ(outcome.stage, "run");
  EXPECT_EQ(outcome.message, "an exception escaped: no tile fits");
  EXPECT_EQ(executor.execute(small_call("copy.throws_number")).message, "an exception of unknown type escaped");
  expect_recovery();
  EXPECT_EQ(executor.restarts(), 0);
}

TEST(Executor, AHangEndsAfterTheTimeLimit) {
  Executor executor(test_pack("run_faults"), test_options(2000));
  ASSERT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
  const auto before = std::chrono::steady_clock::now();
  const Outcome outcome = executor.execute(small_call("copy.hang"));
  const auto took = std::chrono::steady_clock::now() - before;
  EXPECT_EQ(outcome.kind, Kind::timed_out);
  EXPECT_EQ(outcome.stage, "run");
  EXPECT_EQ(outcome.message, "no answer after 2000 ms in run");
  EXPECT_GE(took, std::chrono::milliseconds(2000));
  EXPECT_LT(took, std::chrono::seconds(9));
  EXPECT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
  EXPECT_EQ(executor.restarts(), 1);
}

TEST(Executor, EndingAllChildrenEndsACallAndTheNextOneStartsAgain) {
  Executor executor(test_pack("run_faults"), test_options());
  ASSERT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
  std::atomic<bool> done{false};
  std::thread interrupt([&] {
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      end_all_children();
    }
  });
  const Outcome outcome = executor.execute(small_call("copy.hang"));
  done = true;
  interrupt.join();
  EXPECT_NE(outcome.kind, Kind::ran);
  EXPECT_THAT(outcome.message, HasSubstr("ended by SIGKILL in"));
  EXPECT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
}

TEST(Executor, AChildLostBetweenCallsIsNoFaultOfTheNext) {
  Executor executor(test_pack("run_faults"), test_options());
  ASSERT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
  const std::vector<pid_t> children = children_of(getpid());
  ASSERT_EQ(children.size(), 1u);
  end_all_children();
  ASSERT_TRUE(ends_within(children[0], std::chrono::seconds(20)));
  EXPECT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
  EXPECT_EQ(executor.restarts(), 1);
}

TEST(Executor, AChildOutlivesTheThreadThatStartedIt) {
  Executor executor(test_pack("run_faults"), test_options());
  std::thread([&] { executor.execute(small_call("copy.plain")); }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
  EXPECT_EQ(executor.restarts(), 0);
}

TEST(Executor, ManyAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Executor executor(test_pack("run_faults"), test_options());
      for (int call = 0; call < 20; ++call) {
        right += executor.execute(small_call(call == 10 ? "copy.abort" : "copy.plain")).kind == Kind::ran;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4 * 19);
}

TEST(Executor, AHangingChildDiesWithItsParent) {
  std::string words[] = {NBX_TEST_WORKER, "hold", test_pack("run_faults").string(), "copy.hang"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  pid_t parent = 0;
  ASSERT_EQ(posix_spawn(&parent, words[0].c_str(), nullptr, nullptr, arguments, environ), 0);
  std::vector<pid_t> children;
  for (int wait = 0; wait < 100 && children.empty(); ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    children = children_of(parent);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // into the hang
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  ASSERT_EQ(children.size(), 1u);
  const bool gone = ends_within(children[0], std::chrono::seconds(20));
  EXPECT_TRUE(gone);
  if (!gone) kill(children[0], SIGKILL);
}

}  // namespace
}  // namespace nbx::contracts
