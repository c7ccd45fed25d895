#include "reports/bisect/symbols.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "reports/write_file.hpp"

namespace nbx::reports::bisect {
namespace {

namespace fs = std::filesystem;

/// Bytes at their place; the file's structs are read and written whole.
template <class T>
T at(const std::string& bytes, std::uint64_t offset) {
  T out;
  if (offset > bytes.size() || bytes.size() - offset < sizeof out) throw std::runtime_error("it ends within a table");
  std::memcpy(&out, bytes.data() + offset, sizeof out);
  return out;
}

/// Calls `each` with every section and a function from a section's number to the section.
template <class Each>
void for_each_section(const std::string& bytes, const Each& each) {
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    throw std::runtime_error("not an ELF64 object");
  }
  const auto section = [&](std::uint64_t index) {
    return at<Elf64_Shdr>(bytes, header.e_shoff + index * header.e_shentsize);
  };
  // An object with more sections than the header can count says so in its first section.
  const std::uint64_t count = header.e_shnum != 0 ? header.e_shnum : section(0).sh_size;
  for (std::uint64_t i = 0; i < count; ++i) each(section(i), section);
}

std::string name_at(const std::string& bytes, std::uint64_t place) {
  if (place >= bytes.size()) throw std::runtime_error("a name lies outside the file");
  return bytes.c_str() + place;
}

/// Calls `each` with every visible symbol, its name and its place in the file.
template <class Each>
void for_each_symbol(const std::string& bytes, const Each& each) {
  for_each_section(bytes, [&](const Elf64_Shdr& table, const auto& section) {
    if (table.sh_type != SHT_SYMTAB) return;
    const Elf64_Shdr names = section(table.sh_link);
    for (std::uint64_t place = table.sh_offset; place < table.sh_offset + table.sh_size; place += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(bytes, place);
      if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) continue;
      each(symbol, name_at(bytes, names.sh_offset + symbol.st_name), place);
    }
  });
}

Symbol described(const Elf64_Sym& symbol, std::string name) {
  Symbol out;
  out.name = std::move(name);
  out.defined = symbol.st_shndx != SHN_UNDEF;
  out.function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
  out.shared = ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL;
  return out;
}

}  // namespace

std::vector<Symbol> symbols_of(const fs::path& object) try {
  std::vector<Symbol> out;
  for_each_symbol(read_file(object), [&](const Elf64_Sym& symbol, std::string name, std::uint64_t) {
    out.push_back(described(symbol, std::move(name)));
  });
  return out;
} catch (const std::exception& error) {
  throw std::runtime_error(fmt::format("{}: {}", object.string(), error.what()));
}

std::vector<std::string> loaded_content(const fs::path& object) try {
  const std::string bytes = read_file(object);
  const auto names = at<Elf64_Ehdr>(bytes, 0).e_shstrndx;
  std::vector<std::string> out;
  for_each_section(bytes, [&](const Elf64_Shdr& part, const auto& section) {
    if (part.sh_type != SHT_PROGBITS || (part.sh_flags & SHF_ALLOC) == 0 || part.sh_size == 0) return;
    if (part.sh_offset + part.sh_size > bytes.size()) throw std::runtime_error("a section lies outside the file");
    out.push_back(name_at(bytes, section(names).sh_offset + part.sh_name));
    out.push_back(bytes.substr(part.sh_offset, part.sh_size));
  });
  return out;
} catch (const std::exception& error) {
  throw std::runtime_error(fmt::format("{}: {}", object.string(), error.what()));
}

std::string rebind(const fs::path& from, const fs::path& to, const std::function<bool(const Symbol&)>& strong) try {
  std::string bytes = read_file(from);
  std::vector<std::pair<std::uint64_t, Elf64_Sym>> changed;
  for_each_symbol(bytes, [&](Elf64_Sym symbol, std::string name, std::uint64_t place) {
    const Symbol seen = described(symbol, std::move(name));
    if (!seen.defined) return;
    const unsigned char binding = strong(seen) ? STB_GLOBAL : STB_WEAK;
    symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(binding, ELF64_ST_TYPE(symbol.st_info)));
    changed.emplace_back(place, symbol);
  });
  for (const auto& [place, symbol] : changed) std::memcpy(bytes.data() + place, &symbol, sizeof symbol);
  return write_file(to, bytes);
} catch (const std::exception& error) {
  return fmt::format("{}: {}", from.string(), error.what());
}

}  // namespace nbx::reports::bisect
