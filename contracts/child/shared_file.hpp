// The memory file that parent and child map: a page of notes, then the tensor data of the current call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nbx::contracts::sandbox {

/// Where the child is. Written before each step, read by the parent if the child does not come back.
enum class Stage : std::uint32_t {
  start,
  load,
  pack_open,
  pack_table,
  can_run,
  arithmetic,
  explain,
  cost,
  workspace_bytes,
  check,
  run,
  synchronise,
  harness
};
/// "run"; what a person calls it.
const char* name(Stage stage);

/// A storage and the addresses around it that belong to it, its protected pages included.
struct Zone {
  std::uint64_t first, storage, storage_end, last;
  char name[32];
};

/// What survives the child's death. The signal handler only stores numbers here.
struct Note {
  std::atomic<Stage> stage;
  std::atomic<std::uint32_t> signal;   // 0: none was caught
  std::atomic<std::uint32_t> access;   // 0: unknown, 1: read, 2: write
  std::atomic<std::uint64_t> address;  // of the fault
  std::atomic<std::uint32_t> zones;    // valid entries of zone
  Zone zone[96];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<Stage>::is_always_lock_free);

class SharedFile {
 public:
  /// A new file, in the parent. Throws std::system_error.
  SharedFile();
  /// The inherited file, in the child.
  explicit SharedFile(int descriptor);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  int descriptor() const { return descriptor_; }
  Note& note() { return *note_; }

  /// The parent makes the file large enough for `data_bytes` and maps it; what it held is lost where it had grown
  /// beyond reason and shrinks again. The child maps what the parent says the file has.
  void reserve(std::uint64_t data_bytes);
  void map(std::uint64_t data_bytes);
  std::byte* data() { return data_; }
  std::uint64_t data_bytes() const { return data_bytes_; }

 private:
  void unmap();

  int descriptor_ = -1;
  Note* note_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t data_bytes_ = 0;
};

}  // namespace nbx::contracts::sandbox
