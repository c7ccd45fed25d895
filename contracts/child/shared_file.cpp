#include "contracts/child/shared_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <new>
#include <system_error>

namespace nbx::contracts::sandbox {
namespace {

constexpr std::uint64_t note_bytes = 64 << 10;  // whole pages on any machine
static_assert(sizeof(Note) <= note_bytes);
constexpr std::uint64_t least_data = 1 << 20;
constexpr std::uint64_t keep_at_most = 256 << 20;

void* map_file(int descriptor, std::uint64_t offset, std::uint64_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, static_cast<off_t>(offset));
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mapping a memory file");
  return memory;
}

void resize(int descriptor, std::uint64_t bytes) {
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    throw std::system_error(errno, std::generic_category(), "resizing a memory file");
  }
}

}  // namespace

const char* name(Stage stage) {
  switch (stage) {
    case Stage::start:
      return "start";
    case Stage::load:
      return "load";
    case Stage::pack_open:
      return "nbx_pack_open";
    case Stage::pack_table:
      return "the pack's table";
    case Stage::can_run:
      return "can_run";
    case Stage::arithmetic:
      return "arithmetic";
    case Stage::explain:
      return "explain";
    case Stage::cost:
      return "cost";
    case Stage::workspace_bytes:
      return "workspace_bytes";
    case Stage::check:
      return "check";
    case Stage::run:
      return "run";
    case Stage::synchronise:
      return "synchronise";
    case Stage::harness:
      return "the harness";
  }
  return "an unknown stage";
}

SharedFile::SharedFile() : descriptor_(memfd_create("nbx-contract", MFD_CLOEXEC)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  try {
    resize(descriptor_, note_bytes);
    note_ = new (map_file(descriptor_, 0, note_bytes)) Note{};
  } catch (const std::system_error&) {
    close(descriptor_);
    throw;
  }
}

SharedFile::SharedFile(int descriptor)
    : descriptor_(descriptor), note_(static_cast<Note*>(map_file(descriptor, 0, note_bytes))) {}

SharedFile::~SharedFile() {
  unmap();
  munmap(note_, note_bytes);
  close(descriptor_);
}

void SharedFile::unmap() {
  if (data_ != nullptr) munmap(data_, data_bytes_);
  data_ = nullptr;
  data_bytes_ = 0;
}

void SharedFile::map(std::uint64_t bytes) {
  if (bytes == data_bytes_) return;
  unmap();
  data_ = static_cast<std::byte*>(map_file(descriptor_, note_bytes, bytes));
  data_bytes_ = bytes;
}

void SharedFile::reserve(std::uint64_t bytes) {
  const bool too_large = data_bytes_ > keep_at_most && bytes <= keep_at_most;
  if (bytes <= data_bytes_ && data_bytes_ != 0 && !too_large) return;
  const std::uint64_t rounded = std::max(least_data, std::bit_ceil(bytes));
  resize(descriptor_, note_bytes + rounded);
  map(rounded);
}

}  // namespace nbx::contracts::sandbox
