// The codegen record: what one compiler makes of every kernel for every architecture, kept in the repository.
//
// One file for each compiler, reports/records/codegen/NAME.json:
//
//   {"compiler": "nvcc 13.0.88", "host": "g++ 12.2.0", "flags": "…", "grid": "2147483647 65535 65535",
//    "kernels": {"math.simt.bf16": {"sm_90": {"ptx": "<16 hex digits>", "functions": {"<linker name>":
//      "registers 48 shared 1024 stack 0 spill_stores 0 spill_loads 0 barriers 1 constant 888 threads 128 code 38272
//       machine_code <16 hex digits>"}}}}}
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "contracts/codegen/code.hpp"

namespace nbx::contracts::codegen {

/// Which compiler made code: only the same makes evidence that can be compared.
struct Compiler {
  std::string device;  // "nvcc 13.0.88"
  std::string host;    // "g++ 12.2.0"
  bool operator==(const Compiler&) const = default;
  std::string name() const { return device + ", " + host; }
};

struct Record {
  Compiler compiler;
  std::string flags;
  std::map<std::string, std::map<std::string, Code>> kernels;  // by kernel, by architecture
};

/// A name and value of each resource, in the order in which they are written and told; the code's size and hash are
/// none.
std::vector<std::pair<std::string, std::int64_t>> resources(const Function& function);

/// `made` with what `kept`, by the same compiler and flags, has of other kernels and architectures.
Record merged(const Record& kept, Record made);

Record read_record(const std::filesystem::path& file);
void write_record(const std::filesystem::path& file, const Record& record);

/// "nvcc-13.0.88_g++-12.2.0.json".
std::string file_name(const Compiler& compiler);

/// Every record of a folder; throws std::runtime_error, naming the file, where one cannot be read.
std::vector<Record> read_records(const std::filesystem::path& folder);

}  // namespace nbx::contracts::codegen
