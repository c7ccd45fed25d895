#include "contracts/codegen/elf.hpp"

#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <stdexcept>

namespace nbx::contracts::codegen {

ElfFile::ElfFile(std::string_view image, std::string called) : called_(std::move(called)) {
  if (elf_version(EV_CURRENT) == EV_NONE) fail(elf_errmsg(-1));
  // libelf takes a writable image, and writes to it only where it is asked to update it.
  elf_ = elf_memory(const_cast<char*>(image.data()), image.size());
  GElf_Ehdr head;
  std::size_t names = 0;
  if (elf_ == nullptr || elf_kind(elf_) != ELF_K_ELF || gelf_getehdr(elf_, &head) == nullptr ||
      elf_getshdrstrndx(elf_, &names) != 0) {
    fail("not an ELF file");
  }
  machine_ = head.e_machine;
  for (Elf_Scn* scn = nullptr; (scn = elf_nextscn(elf_, scn)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) == nullptr) fail(elf_errmsg(-1));
    const char* const name = elf_strptr(elf_, names, header.sh_name);
    if (name == nullptr) fail(elf_errmsg(-1));
    ElfSection section{name, nullptr, header.sh_size, header.sh_addr};
    if (header.sh_type != SHT_NOBITS && header.sh_size > 0) {
      const Elf_Data* const data = elf_rawdata(scn, nullptr);
      if (data == nullptr) fail(elf_errmsg(-1));
      section.data = static_cast<const unsigned char*>(data->d_buf);
    }
    if (header.sh_type == SHT_SYMTAB && header.sh_entsize > 0) {
      symbols_ = elf_getdata(scn, nullptr);
      symbol_names_ = header.sh_link;
      symbol_count_ = header.sh_size / header.sh_entsize;
    }
    sections.push_back(section);
  }
}

ElfFile::~ElfFile() { elf_end(elf_); }

const ElfSection* ElfFile::find(std::string_view name) const {
  const auto at = std::find_if(sections.begin(), sections.end(), [&](const ElfSection& s) { return s.name == name; });
  return at == sections.end() ? nullptr : &*at;
}

ElfSymbol ElfFile::symbol(std::size_t index) const {
  GElf_Sym symbol;
  if (symbols_ == nullptr || gelf_getsym(symbols_, static_cast<int>(index), &symbol) == nullptr) {
    throw std::runtime_error(fmt::format("{}: symbol {} is not there", called_, index));
  }
  const char* const name = elf_strptr(elf_, symbol_names_, symbol.st_name);
  return {name == nullptr ? "" : name, symbol.st_value, GELF_ST_TYPE(symbol.st_info) == STT_FILE};
}

void ElfFile::fail(const std::string& why) {
  elf_end(elf_);
  throw std::runtime_error(fmt::format("{}: {}", called_, why));
}

}  // namespace nbx::contracts::codegen
