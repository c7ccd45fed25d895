// `ring_nccl`: the cases of ring_bits.hpp over NCCL, a process and a GPU a rank, on one GPU and on two.
// Every output is held bit for bit against the ring of threads, on one GPU and on the CPU. Then ranks go missing:
// whoever is left has to say so. Exits 0; 1 where anything is wrong; 77 where there are not two GPUs, after what one
// GPU can show.
#include <cuda_runtime_api.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <future>
#include <new>
#include <stdexcept>
#include <thread>

#include "contracts/child/in_process_ring.hpp"
#include "kernels/pack/communicators/nccl.hpp"
#include "tests/kernels/ring/device_call.hpp"
#include "tests/kernels/ring/rank_processes.hpp"
#include "tests/kernels/ring/ring_bits.hpp"

namespace nbx::test {
namespace {

using contracts::sandbox::InProcessRing;
using pack::NcclCommunicator;
using namespace std::chrono_literals;

constexpr auto patience = 60s;  // for what has to come to pass
constexpr auto limit = 3s;      // for what does not

void must(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// The small cases, and messages of megabytes.
std::vector<RingCase> all_cases() {
  std::vector<RingCase> cases(std::begin(ring_cases), std::end(ring_cases));
  for (RingCase one : ring_cases) {
    one.sizes = {.B = 1, .H = 4, .Hk = 2, .Tq = 128, .Tk = 2000, .D = 128, .block_q = 32};
    cases.push_back(one);
  }
  return cases;
}

/// A group's name, from rank 0 to the others.
class Meeting {
 public:
  Meeting() : memory_(sizeof(Shared)) { new (memory_.at()) Shared{}; }

  ncclUniqueId name(int rank) const {
    Shared& shared = *static_cast<Shared*>(memory_.at());
    if (rank == 0) {
      if (ncclGetUniqueId(&shared.name) != ncclSuccess) throw std::runtime_error(ncclGetLastError(nullptr));
      shared.made = true;
    }
    for (const auto end = std::chrono::steady_clock::now() + patience; !shared.made;) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("rank 0 names no group");
      std::this_thread::sleep_for(1ms);
    }
    return shared.name;
  }

 private:
  struct Shared {
    std::atomic<bool> made;
    ncclUniqueId name;
  };
  SharedMemory memory_;
};

/// A rank of a group, the pack on its GPU, and a stream that waits for no other.
struct Member {
  NcclCommunicator communicator;
  const nbx_pack& pack;
  cudaStream_t stream = nullptr;

  Member(const Meeting& meeting, int rank, int ranks, int gpu, const std::string& file, NcclCommunicator::Limit meets)
      : communicator(on(gpu, meeting.name(rank)), rank, ranks, meets), pack(device_pack(file)) {
    if (!communicator.valid()) throw std::runtime_error(communicator.words());
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    pack_must_be_on(gpu);
  }

  std::vector<std::uint32_t> run(const RingCase& one, const nbx_communicator* other = nullptr) {
    const nbx_communicator& group = communicator.entries();
    PackCall call = ring_call(one, group.rank, group.ranks);
    call.communicator = other == nullptr ? &group : other;
    try {
      run_on_device(pack, call, stream, [&] { return communicator.wait(stream); });
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(std::string(error.what()) + "; nccl: " + communicator.words());
    }
    return ring_outputs(call);
  }

 private:
  static const ncclUniqueId& on(int gpu, const ncclUniqueId& name) {
    must(cudaSetDevice(gpu));
    return name;
  }
  /// The pack has a CUDA runtime of its own: both must mean the same current device.
  void pack_must_be_on(int gpu) const {
    void* at = nullptr;
    if (pack.memory->allocate(1, 0, &at, nullptr, 0) != NBX_OK) throw std::runtime_error("no memory from the pack");
    cudaPointerAttributes found{};
    must(cudaPointerGetAttributes(&found, at));
    pack.memory->release(at);
    if (found.device != gpu) throw std::runtime_error("the pack's memory is on GPU " + std::to_string(found.device));
  }
};

/// Bytes to the next rank and to all, of sizes that NCCL sends in different ways.
void pass_messages(Member& member) {
  const nbx_communicator& group = member.communicator.entries();
  const nbx_memory& memory = *member.pack.memory;
  const int next = (group.rank + 1) % group.ranks, last = (group.rank + group.ranks - 1) % group.ranks;
  for (const std::size_t bytes : {1, 4, 4096, 1 << 22}) {
    const auto byte = [](int rank, std::size_t i) { return static_cast<unsigned char>(31 * rank + 7 * i + i / 251); };
    std::vector<unsigned char> own(bytes), from_last(bytes), from_all(bytes * static_cast<std::size_t>(group.ranks));
    for (std::size_t i = 0; i < bytes; ++i) own[i] = byte(group.rank, i);
    void *send = nullptr, *receive = nullptr, *gathered = nullptr;
    must(cudaMalloc(&send, bytes));
    must(cudaMalloc(&receive, bytes));
    must(cudaMalloc(&gathered, from_all.size()));
    memory.copy_in(send, own.data(), bytes);
    must(cudaDeviceSynchronize());
    const bool sent = group.exchange(&group, send, next, receive, last, bytes, member.stream) == NBX_OK &&
                      group.all_gather(&group, send, gathered, bytes, member.stream) == NBX_OK &&
                      member.communicator.wait(member.stream) == NBX_OK;
    if (!sent) throw std::runtime_error(member.communicator.words());
    memory.copy_out(from_last.data(), receive, bytes);
    memory.copy_out(from_all.data(), gathered, from_all.size());
    for (std::size_t i = 0; i < from_all.size(); ++i) {
      const bool right =
          from_all[i] == byte(static_cast<int>(i / bytes), i % bytes) && from_last[i % bytes] == byte(last, i % bytes);
      if (!right) throw std::runtime_error("a message of " + std::to_string(bytes) + " bytes came otherwise");
    }
    for (void* const block : {send, receive, gathered}) must(cudaFree(block));
  }
}

/// One case on all ranks as threads: run(rank, communicator) each.
template <class Run>
void in_threads(int ranks, const nbx_memory* device, const Run& run, RankReport& report) {
  InProcessRing ring(ranks, device);
  std::vector<std::future<std::vector<std::uint32_t>>> team;
  for (int rank = 0; rank < ranks; ++rank)
    team.push_back(std::async(std::launch::async, [&, rank] { return run(rank, ring.communicator(rank)); }));
  for (auto& member : team) report.add(member.get());
}

void on_one_gpu(int ranks, const std::string& file, RankReport& report) {
  const nbx_pack& pack = device_pack(file);
  for (const RingCase& one : all_cases()) {
    const auto run = [&](int rank, const nbx_communicator& group) {
      PackCall call = ring_call(one, rank, ranks);
      call.communicator = &group;
      run_on_device(pack, call, nullptr, [&] { return pack.memory->synchronise(nullptr, 0); });
      return ring_outputs(call);
    };
    in_threads(ranks, pack.memory, run, report);
  }
}

void on_the_cpu(int ranks, RankReport& report) {
  cpu_pack();  // loaded once, before the threads
  for (const RingCase& one : all_cases()) {
    const auto run = [&](int rank, const nbx_communicator& group) { return ring_bits(one, rank, ranks, &group); };
    in_threads(ranks, nullptr, run, report);
  }
}

bool done(const RankReport& report, const char* who) {
  if (report.end == RankReport::End::done) return true;
  std::printf("WRONG    %s: %s\n", who, report.end == RankReport::End::killed ? "killed" : report.words.data());
  return false;
}

/// All cases with a GPU a rank, a line each.
bool same_bits(int ranks, const std::string& file) {
  const Meeting meeting;
  const RankProcesses over_nccl(ranks, patience, [&](int rank, RankReport& report) {
    Member member(meeting, rank, ranks, rank, file, patience);
    pass_messages(member);
    for (const RingCase& one : all_cases()) report.add(member.run(one));
  });
  const RankProcesses gpu(1, patience, [&](int, RankReport& report) { on_one_gpu(ranks, file, report); });
  const RankProcesses cpu(1, patience, [&](int, RankReport& report) { on_the_cpu(ranks, report); });
  bool right = done(gpu.report(0), "threads on one GPU") && done(cpu.report(0), "threads on the CPU");
  for (int rank = 0; rank < ranks; ++rank) right = done(over_nccl.report(rank), "a rank over NCCL") && right;
  if (!right) return false;

  std::size_t own = 0, of_all = 0;  // read so far, of each rank, and of the threads
  for (const RingCase& one : all_cases()) {
    const std::size_t count = ring_outputs(ring_call(one, 0, ranks)).size();
    std::size_t from_gpu = 0, from_cpu = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      for (std::size_t i = 0; i < count; ++i, ++of_all) {
        const std::uint32_t bits = over_nccl.report(rank).bits[own + i];
        from_gpu += bits != gpu.report(0).bits[of_all];
        from_cpu += bits != cpu.report(0).bits[of_all];
      }
    }
    own += count;
    const bool same = from_gpu == 0 && from_cpu == 0;
    right = right && same;
    std::printf("%s %d GPU%s, %s: of %zu elements %zu differ from threads on one GPU, %zu from the CPU\n",
                same ? "same    " : "OTHER   ", ranks, ranks == 1 ? "" : "s", name_of(one).c_str(),
                count * static_cast<std::size_t>(ranks), from_gpu, from_cpu);
  }
  for (int rank = 0; rank < ranks; ++rank) right = right && over_nccl.report(rank).count == own;
  return right && gpu.report(0).count == of_all && cpu.report(0).count == of_all && of_all > 0;
}

/// Rank 0 has to throw, in time, and its words hold `says`.
bool told(const char* what, const char* says, const RankReport& report) {
  const bool right =
      report.end == RankReport::End::threw && std::string(report.words.data()).find(says) != std::string::npos;
  std::printf("%s %s: rank 0 %s after %.1f s: %s\n", right ? "told    " : "NOT TOLD", what,
              report.end == RankReport::End::threw  ? "gives up"
              : report.end == RankReport::End::done ? "ends"
                                                    : "hangs",
              static_cast<double>(report.milliseconds) / 1000, report.words.data());
  return right;
}

/// What one GPU can show: groups that do not come about.
bool no_group(const std::string& file) {
  const Meeting alone, crowded;
  const RankProcesses one(1, patience, [&](int rank, RankReport&) { Member(alone, rank, 2, 0, file, limit); });
  const RankProcesses both(2, patience, [&](int rank, RankReport&) { Member(crowded, rank, 2, 0, file, patience); });
  const bool first = told("no second rank", "not done within 3000 ms", one.report(0));
  return told("two ranks on one GPU", "invalid usage", both.report(0)) && first;
}

[[noreturn]] nbx_status dies(const nbx_communicator*, const void*, int32_t, void*, int32_t, uint64_t, void*) {
  std::raise(SIGKILL);
  std::abort();
}

/// Groups that break.
bool broken_group(const std::string& file) {
  struct Break {
    const char *what, *says;
    void (*of_one)(Member&);  // what rank 1 does after a run that went well
    void (*of_zero)(Member&);
  };
  const auto goes_on = [](Member& member) { member.run(ring_cases[0]); };
  const Break breaks[] = {
      {"rank 1 leaves", "not done within 3000 ms", [](Member&) { std::quick_exit(0); }, goes_on},
      {"rank 1 is killed between two messages", "not done within 3000 ms",
       [](Member& member) {
         nbx_communicator mortal = member.communicator.entries();
         mortal.exchange = dies;
         member.run(ring_cases[0], &mortal);
       },
       goes_on},
      {"rank 0 sends to a rank that is none", "invalid argument", goes_on, [](Member& member) {
         const nbx_communicator& group = member.communicator.entries();
         void* memory = nullptr;
         must(cudaMalloc(&memory, 2));
         if (group.exchange(&group, memory, 2, static_cast<char*>(memory) + 1, 1, 1, member.stream) == NBX_INVALID)
           throw std::runtime_error(member.communicator.words());
       }}};
  bool right = true;
  for (const Break& one : breaks) {
    const Meeting meeting;
    const RankProcesses ranks(2, patience, [&](int rank, RankReport&) {
      Member member(meeting, rank, 2, rank, file, patience);
      member.run(ring_cases[0]);
      member.communicator.set_limit(limit);
      rank == 0 ? one.of_zero(member) : one.of_one(member);
    });
    right = told(one.what, one.says, ranks.report(0)) && right;
  }
  return right;
}

int run(const std::string& file) {
  // Counted in a process of its own: a process that has asked CUDA cannot be forked.
  const RankProcesses asked(1, patience, [&](int, RankReport& report) {
    int gpus = 0;
    must(cudaGetDeviceCount(&gpus));
    device_pack(file);
    report.add({static_cast<std::uint32_t>(gpus)});
  });
  const RankReport& answer = asked.report(0);
  if (answer.end == RankReport::End::killed && !done(answer, "who counts GPUs")) return 1;
  const std::uint32_t gpus = answer.count == 1 ? answer.bits[0] : 0;
  bool right = true;
  if (gpus >= 1) right = no_group(file) && right;
  for (std::uint32_t ranks = 1; ranks <= gpus && ranks <= 2; ++ranks)
    right = same_bits(static_cast<int>(ranks), file) && right;
  if (gpus >= 2) right = broken_group(file) && right;
  if (gpus < 2) std::printf("skipped  two GPUs are needed, %u serve here %s\n", gpus, answer.words.data());
  return !right ? 1 : gpus < 2 ? 77 : 0;
}

}  // namespace
}  // namespace nbx::test

int main() { return nbx::test::run(NBX_CUDA_PACK); }
