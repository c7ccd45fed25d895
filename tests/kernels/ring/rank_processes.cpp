#include "tests/kernels/ring/rank_processes.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>

namespace nbx::test {
namespace {

using Clock = std::chrono::steady_clock;

void live(int rank, const RankProcesses::Body& body, RankReport& report) {
  const auto start = Clock::now();
  RankReport::End end = RankReport::End::done;
  try {
    body(rank, report);
  } catch (const std::exception& error) {
    std::snprintf(report.words.data(), report.words.size(), "%s", error.what());
    end = RankReport::End::threw;
  }
  report.milliseconds =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
  report.end = end;
}

}  // namespace

void RankReport::add(const std::vector<std::uint32_t>& more) {
  if (more.size() > bits.size() - count) throw std::length_error("more bits than a report holds");
  std::copy(more.begin(), more.end(), bits.begin() + static_cast<std::ptrdiff_t>(count));
  count += more.size();
}

SharedMemory::SharedMemory(std::size_t bytes)
    : bytes_(bytes), at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
  if (at_ == MAP_FAILED) throw std::runtime_error("no shared memory");
}

SharedMemory::~SharedMemory() { munmap(at_, bytes_); }

RankProcesses::RankProcesses(int ranks, std::chrono::seconds limit, const Body& body)
    : memory_(static_cast<std::size_t>(ranks) * sizeof(RankReport)) {
  std::fflush(nullptr);  // else every rank writes what is buffered once more
  std::vector<pid_t> running;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process for a rank");
    if (child == 0) {
      live(rank, body, reports()[rank]);
      std::fflush(nullptr);
      _exit(0);  // nothing of the parent's is to be torn down here
    }
    running.push_back(child);
  }
  const auto end = Clock::now() + limit;
  while (!running.empty()) {
    const bool late = Clock::now() > end;
    running.erase(std::remove_if(running.begin(), running.end(),
                                 [&](pid_t child) {
                                   if (late) kill(child, SIGKILL);
                                   return waitpid(child, nullptr, late ? 0 : WNOHANG) == child;
                                 }),
                  running.end());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace nbx::test
