// The ranks of a ring as processes of this machine, which report through memory that they share.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nbx::test {

/// What a rank leaves behind, also where it dies.
struct RankReport {
  static constexpr std::size_t most_bits = std::size_t{1} << 21;

  enum class End { killed, threw, done } end;  // killed: it never came to its end
  std::uint64_t milliseconds;                  // to its end
  std::array<char, 1024> words;                // why it threw
  std::uint64_t count;
  std::array<std::uint32_t, most_bits> bits;

  /// Throws std::length_error where they do not fit.
  void add(const std::vector<std::uint32_t>& more);
};

/// Bytes that all processes forked later see, zero at first.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void* at() const { return at_; }

 private:
  std::size_t bytes_;
  void* at_;
};

/// body(rank, its report) in a process of its own each; what a body throws is in its report.
class RankProcesses {
 public:
  using Body = std::function<void(int rank, RankReport& report)>;

  /// Until all are done. Whoever is not within `limit` is killed.
  RankProcesses(int ranks, std::chrono::seconds limit, const Body& body);

  const RankReport& report(int rank) const { return reports()[rank]; }

 private:
  RankReport* reports() const { return static_cast<RankReport*>(memory_.at()); }

  SharedMemory memory_;
};

}  // namespace nbx::test
