// An ELF file in memory, its sections and symbols, by libelf.
#pragma once

#include <libelf.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nbx::contracts::codegen {

struct ElfSection {
  std::string name;
  const unsigned char* data = nullptr;  // null: no bits
  std::size_t size = 0;
  std::uint64_t address = 0;  // where it lies when loaded
};

struct ElfSymbol {
  std::string name;
  std::uint64_t value = 0;
  bool file = false;  // names the source file of the local symbols behind it
};

class ElfFile {
 public:
  /// `image` stays alive and unchanged as long as this. Throws std::runtime_error, which names it `called`.
  ElfFile(std::string_view image, std::string called);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  int machine() const { return machine_; }
  /// nullptr where there is none of that name.
  const ElfSection* find(std::string_view name) const;

  std::size_t symbol_count() const { return symbol_count_; }  // 0: stripped
  ElfSymbol symbol(std::size_t index) const;

  std::vector<ElfSection> sections;

 private:
  [[noreturn]] void fail(const std::string& why);

  std::string called_;
  Elf* elf_ = nullptr;
  int machine_ = 0;
  Elf_Data* symbols_ = nullptr;
  std::size_t symbol_names_ = 0, symbol_count_ = 0;
};

}  // namespace nbx::contracts::codegen
