// Fingerprints of outputs, kept in the repository: what a device gave, problem by problem.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "contracts/call.hpp"

namespace nbx::contracts {

/// A hash of an output's bits, every NaN counted as one value, and one for each 1,024 elements.
struct Fingerprint {
  std::uint64_t whole = 0;
  std::vector<std::uint32_t> blocks;
  bool operator==(const Fingerprint&) const = default;
};
inline constexpr std::int64_t fingerprint_block = 1024;

Fingerprint fingerprint(const Bytes& dense, DLDataType type);

/// All outputs of one case, in call order.
using CaseFingerprints = std::map<std::string, Fingerprint>;

struct Record {
  std::string device, driver, toolchain, flags, command;
  std::string architecture;                           // "sm_90"; empty: a host, or a record older than this field
  std::map<std::string, std::uint64_t> machine_code;  // of each kernel's unit, as it ran; empty: not known
  std::uint64_t seed = 1;
  /// By kernel, then by problem.
  std::map<std::string, std::map<std::string, CaseFingerprints>> kernels;
};

/// Every record of a folder; a file that cannot be read is an error that names it.
class Records {
 public:
  static Records load(const std::filesystem::path& folder);
  /// Records that were made with this seed and hold the case.
  struct Found {
    const Record* record;
    const CaseFingerprints* fingerprints;
    bool other_code;  // the kernel's machine code is known to be another today
  };
  std::vector<Found> of_case(const std::string& kernel, const std::string& problem, std::uint64_t seed) const;
  bool empty() const { return records_.empty(); }
  const std::vector<Record>& all() const { return records_; }
  /// Says which kernels of all()[i] have other machine code today (contracts/code_evidence.hpp).
  void set_other_code(std::size_t i, std::set<std::string> kernels) { other_code_[i] = std::move(kernels); }
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  std::vector<Record> records_;
  std::map<std::size_t, std::set<std::string>> other_code_;
  std::vector<std::string> errors_;
};

/// Throws std::runtime_error that names the file.
Record read_record(const std::filesystem::path& file);
void write_record(const std::filesystem::path& file, const Record& record);

}  // namespace nbx::contracts
