// What a compiler made of a kernel's device code: the functions of one translation unit for one architecture.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace nbx::contracts::codegen {

/// One device function that a launch can name. All sizes in bytes.
struct Function {
  std::int64_t registers = 0;  // of one thread
  std::int64_t shared = 0;  // static, the driver's own share included; dynamic shared memory is known at launch alone
  std::int64_t stack = 0;
  std::int64_t spill_stores = 0, spill_loads = 0;
  std::int64_t barriers = 0;
  std::int64_t constant = 0;  // bank 0: parameters
  std::int64_t threads = 0;   // of the largest block that its bounds and registers allow
  std::int64_t code = 0;
  std::uint64_t machine_code = 0;  // a hash of its .text section
  bool operator==(const Function&) const = default;
};

/// A unit for one architecture. Functions by their linker name, without what the compiler derives from a file's path.
struct Code {
  std::uint64_t ptx = 0;
  std::map<std::string, Function> functions;
  bool operator==(const Code&) const = default;
};

/// Reads the functions of a cubin, which errors name as `called`. Spills and barriers stand in the assembler's log
/// alone. Throws std::runtime_error.
std::map<std::string, Function> read_cubin(std::string_view image, const std::string& called);

/// One hash of the machine code of all functions.
std::uint64_t machine_code(const std::map<std::string, Function>& functions);

/// Adds what `ptxas -v` says of the functions: spills and barriers. Throws std::runtime_error where it names one that
/// the cubin has not, or leaves one out.
void add_assembler_log(std::string_view log, std::map<std::string, Function>& functions);

/// A hash of PTX without comments, source lines, and names that the compiler derives from a path.
std::uint64_t ptx_hash(std::string_view ptx);

/// A name without the hashes that nvcc derives from a file's path for what is local to it.
std::string without_path(const std::string& name);

}  // namespace nbx::contracts::codegen
