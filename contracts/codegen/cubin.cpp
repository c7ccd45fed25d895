// What a cubin says of its functions, read by libelf.
#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "contracts/codegen/code.hpp"
#include "contracts/codegen/elf.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts::codegen {
namespace {

// Attributes of .nv.info, as cuobjdump and the assembler's own listing name them (EIATTR_*). An entry is a byte of
// format, a byte of attribute and two bytes: the value, or with format 4 the length of what follows.
constexpr unsigned char has_payload = 4;
constexpr unsigned char max_threads = 0x05, frame_size = 0x11, register_count = 0x2F;

constexpr std::int64_t registers_of_block = 65'536, register_unit = 8, warp = 32, most_threads = 1024;

std::uint32_t word(const unsigned char* at) {
  std::uint32_t x;
  std::memcpy(&x, at, sizeof x);
  return x;
}

/// Calls f(attribute, payload, bytes) for each entry with a payload.
template <class F>
void for_each_attribute(const ElfSection& info, const F& f) {
  for (std::size_t at = 0; at + 4 <= info.size;) {
    const unsigned char* const entry = info.data + at;
    const std::size_t length = entry[0] == has_payload ? entry[2] | entry[3] << 8 : 0;
    if (at + 4 + length > info.size) throw std::runtime_error(info.name + " ends within an entry");
    if (entry[0] == has_payload) f(entry[1], entry + 4, length);
    at += 4 + length;
  }
}

std::int64_t threads(const ElfFile& cubin, const std::string& name, std::int64_t registers) {
  std::int64_t bound = most_threads;
  if (const ElfSection* const info = cubin.find(".nv.info." + name); info != nullptr && info->data != nullptr) {
    for_each_attribute(*info, [&](unsigned char attribute, const unsigned char* at, std::size_t length) {
      if (attribute == max_threads && length >= 12) {
        bound = std::int64_t{word(at)} * word(at + 4) * word(at + 8);
      }
    });
  }
  const std::int64_t held = (registers + register_unit - 1) / register_unit * register_unit;
  return held == 0 ? bound : std::min(bound, registers_of_block / (held * warp) * warp);
}

}  // namespace

std::map<std::string, Function> read_cubin(std::string_view image, const std::string& called) {
  const ElfFile cubin(image, called);
  if (cubin.machine() != EM_CUDA) {
    throw std::runtime_error(fmt::format("{}: an ELF file for machine {}, not CUDA", called, cubin.machine()));
  }
  std::map<std::string, std::int64_t> registers, stack;
  if (const ElfSection* const info = cubin.find(".nv.info"); info != nullptr && info->data != nullptr) {
    for_each_attribute(*info, [&](unsigned char attribute, const unsigned char* at, std::size_t length) {
      if (length < 8) return;
      if (attribute == register_count) registers[cubin.symbol(word(at)).name] = word(at + 4);
      if (attribute == frame_size) stack[cubin.symbol(word(at)).name] = word(at + 4);
    });
  }
  std::map<std::string, Function> functions;
  constexpr std::string_view text = ".text.";
  for (const ElfSection& section : cubin.sections) {
    if (!section.name.starts_with(text) || section.data == nullptr) continue;
    const std::string name = section.name.substr(text.size());
    const auto size_of = [&](const char* prefix) {
      const ElfSection* const found = cubin.find(prefix + name);
      return found == nullptr ? std::int64_t{0} : static_cast<std::int64_t>(found->size);
    };
    if (!registers.contains(name)) throw std::runtime_error(fmt::format("{}: no register count of {}", called, name));
    Function function;
    function.registers = registers[name];
    function.stack = stack[name];
    function.shared = size_of(".nv.shared.");
    function.constant = size_of(".nv.constant0.");
    function.threads = threads(cubin, name, function.registers);
    function.code = static_cast<std::int64_t>(section.size);
    function.machine_code = hash_text({reinterpret_cast<const char*>(section.data), section.size},
                                      static_cast<std::uint64_t>(section.size));
    functions[without_path(name)] = function;
  }
  if (functions.empty()) throw std::runtime_error(fmt::format("{}: no device function", called));
  return functions;
}

}  // namespace nbx::contracts::codegen
