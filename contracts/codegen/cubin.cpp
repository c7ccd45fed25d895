// What a cubin says of its functions, read by libelf.
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "contracts/codegen/code.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts::codegen {
namespace {

// Attributes of .nv.info, as cuobjdump and the assembler's own listing name them (EIATTR_*). An entry is a byte of
// format, a byte of attribute and two bytes: the value, or with format 4 the length of what follows.
constexpr unsigned char has_payload = 4;
constexpr unsigned char max_threads = 0x05, frame_size = 0x11, register_count = 0x2F;

constexpr std::int64_t registers_of_block = 65'536, register_unit = 8, warp = 32, most_threads = 1024;

struct Section {
  std::string name;
  const unsigned char* data = nullptr;  // null: no bits
  std::size_t size = 0;
};

class Cubin {
 public:
  explicit Cubin(const std::filesystem::path& path) : path_(path) {
    if (elf_version(EV_CURRENT) == EV_NONE) fail(elf_errmsg(-1));
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) fail(std::strerror(errno));
    elf_ = elf_begin(file_, ELF_C_READ, nullptr);
    GElf_Ehdr head;
    std::size_t names = 0;
    if (elf_ == nullptr || elf_kind(elf_) != ELF_K_ELF || gelf_getehdr(elf_, &head) == nullptr ||
        elf_getshdrstrndx(elf_, &names) != 0) {
      fail("not an ELF file");
    }
    if (head.e_machine != EM_CUDA) fail(fmt::format("an ELF file for machine {}, not CUDA", head.e_machine));
    for (Elf_Scn* scn = nullptr; (scn = elf_nextscn(elf_, scn)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(scn, &header) == nullptr) fail(elf_errmsg(-1));
      Section section{elf_strptr(elf_, names, header.sh_name), nullptr, header.sh_size};
      if (header.sh_type != SHT_NOBITS && header.sh_size > 0) {
        const Elf_Data* const data = elf_rawdata(scn, nullptr);
        if (data == nullptr) fail(elf_errmsg(-1));
        section.data = static_cast<const unsigned char*>(data->d_buf);
      }
      if (header.sh_type == SHT_SYMTAB) symbols_ = {elf_getdata(scn, nullptr), header.sh_link};
      sections.push_back(section);
    }
  }
  ~Cubin() { close_all(); }
  Cubin(const Cubin&) = delete;
  Cubin& operator=(const Cubin&) = delete;

  const Section* find(const std::string& name) const {
    const auto at = std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.name == name; });
    return at == sections.end() ? nullptr : &*at;
  }

  std::string symbol(std::uint32_t index) const {
    GElf_Sym symbol;
    if (symbols_.data == nullptr || gelf_getsym(symbols_.data, static_cast<int>(index), &symbol) == nullptr) {
      throw std::runtime_error(fmt::format("{}: .nv.info names symbol {}, which is not there", path_.string(), index));
    }
    return elf_strptr(elf_, symbols_.names, symbol.st_name);
  }

  std::vector<Section> sections;

 private:
  [[noreturn]] void fail(const std::string& why) {
    close_all();
    throw std::runtime_error(fmt::format("cubin {}: {}", path_.string(), why));
  }
  void close_all() {
    if (elf_ != nullptr) elf_end(elf_);
    if (file_ >= 0) close(file_);
    elf_ = nullptr;
    file_ = -1;
  }

  struct Symbols {
    Elf_Data* data = nullptr;
    std::size_t names = 0;
  };
  std::filesystem::path path_;
  int file_ = -1;
  Elf* elf_ = nullptr;
  Symbols symbols_;
};

std::uint32_t word(const unsigned char* at) {
  std::uint32_t x;
  std::memcpy(&x, at, sizeof x);
  return x;
}

/// Calls f(attribute, payload, bytes) for each entry with a payload.
template <class F>
void for_each_attribute(const Section& info, const F& f) {
  for (std::size_t at = 0; at + 4 <= info.size;) {
    const unsigned char* const entry = info.data + at;
    const std::size_t length = entry[0] == has_payload ? entry[2] | entry[3] << 8 : 0;
    if (at + 4 + length > info.size) throw std::runtime_error(info.name + " ends within an entry");
    if (entry[0] == has_payload) f(entry[1], entry + 4, length);
    at += 4 + length;
  }
}

std::int64_t threads(const Cubin& cubin, const std::string& name, std::int64_t registers) {
  std::int64_t bound = most_threads;
  if (const Section* const info = cubin.find(".nv.info." + name); info != nullptr && info->data != nullptr) {
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

std::map<std::string, Function> read_cubin(const std::filesystem::path& path) {
  const Cubin cubin(path);
  std::map<std::string, std::int64_t> registers, stack;
  if (const Section* const info = cubin.find(".nv.info"); info != nullptr && info->data != nullptr) {
    for_each_attribute(*info, [&](unsigned char attribute, const unsigned char* at, std::size_t length) {
      if (length < 8) return;
      if (attribute == register_count) registers[cubin.symbol(word(at))] = word(at + 4);
      if (attribute == frame_size) stack[cubin.symbol(word(at))] = word(at + 4);
    });
  }
  std::map<std::string, Function> functions;
  constexpr std::string_view text = ".text.";
  for (const Section& section : cubin.sections) {
    if (!section.name.starts_with(text) || section.data == nullptr) continue;
    const std::string name = section.name.substr(text.size());
    const auto size_of = [&](const char* prefix) {
      const Section* const found = cubin.find(prefix + name);
      return found == nullptr ? std::int64_t{0} : static_cast<std::int64_t>(found->size);
    };
    if (!registers.contains(name))
      throw std::runtime_error(fmt::format("{}: no register count of {}", path.string(), name));
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
  if (functions.empty()) throw std::runtime_error(fmt::format("{}: no device function", path.string()));
  return functions;
}

}  // namespace nbx::contracts::codegen
