#include "contracts/codegen/pack_code.hpp"

#include <fmt/format.h>

#include <cstring>
#include <regex>
#include <stdexcept>
#include <vector>

#include "contracts/codegen/code.hpp"
#include "contracts/codegen/elf.hpp"
#include "contracts/codegen/file_text.hpp"

namespace nbx::contracts::codegen {
namespace {

// A fat binary as nvcc lays it out: a head, then entries, each with a head of its own and an image of machine code or
// PTX. CUDA's fatbinary_section.h names the section, older toolkits' fatBinaryCtl.h the head; the entry's fields were
// found in what nvcc 13.0 writes, and cuobjdump tells the same of it.
struct FatHead {
  std::uint32_t magic;
  std::uint16_t version, head_bytes;
  std::uint64_t bytes;  // of all entries
};
struct EntryHead {
  std::uint16_t kind, version;
  std::uint32_t head_bytes;
  std::uint64_t bytes;                      // of the image, with what fills it up
  std::uint32_t compressed_bytes, options;  // 0: not compressed
  std::uint16_t minor, major;
  std::uint32_t architecture;  // 90
};
constexpr std::uint32_t fat_magic = 0xBA55ED50;
constexpr std::uint16_t machine_code_kind = 2;

template <class T>
T read_head(std::string_view from) {
  if (from.size() < sizeof(T)) throw std::runtime_error("a fat binary ends within a head");
  T head;
  std::memcpy(&head, from.data(), sizeof head);
  return head;
}

/// The cubins for `architecture` in the fat binary that `from` starts with.
std::vector<std::string_view> cubins(std::string_view from, std::uint32_t architecture) {
  const auto fat = read_head<FatHead>(from);
  if (fat.magic != fat_magic) throw std::runtime_error("a fat binary has another head than nvcc 13.0 writes");
  if (fat.head_bytes + fat.bytes > from.size()) throw std::runtime_error("a fat binary ends behind its section");
  std::string_view rest = from.substr(fat.head_bytes, fat.bytes);
  std::vector<std::string_view> found;
  while (!rest.empty()) {
    const auto entry = read_head<EntryHead>(rest);
    if (entry.head_bytes < sizeof entry || entry.head_bytes + entry.bytes > rest.size()) {
      throw std::runtime_error("an entry of a fat binary is longer than what is left of it");
    }
    if (entry.kind == machine_code_kind && entry.architecture == architecture) {
      if (entry.compressed_bytes != 0) throw std::runtime_error("its machine code is compressed");
      found.push_back(rest.substr(entry.head_bytes, entry.bytes));
    }
    rest.remove_prefix(entry.head_bytes + entry.bytes);
  }
  return found;
}

/// "tmpxft_00002f4b_00000000-6_math.simt.f16.cudafe1.cpp" -> "math.simt.f16"; empty for other names. A unit of several
/// architectures has ".compute_90a" behind its own name.
std::string unit_of_symbol(const std::string& file) {
  static const std::regex made("tmpxft_[0-9a-f]+_[0-9a-f]+-[0-9]+_(.*?)(\\.compute_[0-9]+[a-z]?)?\\.cudafe1\\.cpp");
  std::smatch match;
  return std::regex_match(file, match, made) ? match[1].str() : "";
}

}  // namespace

PackCode pack_code(const std::filesystem::path& pack, const std::string& architecture) try {
  const std::string image = file_text(pack);
  const ElfFile library(image, "it");
  const ElfSection* const section = library.find(".nv_fatbin");
  if (section == nullptr || section->data == nullptr) return {};
  if (library.symbol_count() == 0) throw std::runtime_error("it is stripped: no symbol says which unit code is of");
  static const std::regex number("sm_([0-9]+)[a-z]?");
  std::smatch match;
  if (!std::regex_match(architecture, match, number)) {
    throw std::runtime_error(fmt::format("architecture: {}; accepted: sm_ and a number", architecture));
  }
  const auto wanted = static_cast<std::uint32_t>(std::stoul(match[1]));

  // Each unit has one fat binary, which its own local symbol `fatbinData` points to.
  PackCode out;
  std::map<std::string, std::pair<std::string, std::uint64_t>> seen;  // function: unit and hash
  std::string unit;
  for (std::size_t i = 0; i < library.symbol_count(); ++i) {
    const ElfSymbol symbol = library.symbol(i);
    if (symbol.file) unit = unit_of_symbol(symbol.name);
    if (symbol.name != "fatbinData" || unit.empty()) continue;
    if (symbol.value < section->address || symbol.value - section->address > section->size) {
      throw std::runtime_error(fmt::format("the fat binary of {} lies outside .nv_fatbin", unit));
    }
    const std::string_view all(reinterpret_cast<const char*>(section->data), section->size);
    std::map<std::string, Function> functions;
    for (const std::string_view cubin : cubins(all.substr(symbol.value - section->address), wanted)) {
      // Code for sm_90 and for sm_90a has one number, and the driver chooses: where they differ, both count.
      for (const auto& [name, function] : read_cubin(cubin, unit)) {
        const auto [known, added] = functions.try_emplace(name, function);
        if (!added && known->second.machine_code != function.machine_code) functions[name + ", again"] = function;
      }
    }
    if (functions.empty()) continue;
    for (const auto& [name, function] : functions) {
      const auto [before, first] = seen.try_emplace(name, unit, function.machine_code);
      if (!first && before->second.second != function.machine_code) {
        throw std::runtime_error(
            fmt::format("{} and {} hold other code of {}, and either may run", before->second.first, unit, name));
      }
    }
    out[unit] = machine_code(functions);
  }
  return out;
} catch (const std::exception& error) {
  throw std::runtime_error(fmt::format("machine code of pack {}: {}", pack.filename().string(), error.what()));
}

}  // namespace nbx::contracts::codegen
