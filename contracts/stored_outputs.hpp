// Outputs as kernels gave them, kept beside a record, so that a difference can be told element by element. The file is
// a .safetensors: eight bytes with the length of a JSON header (little-endian), the header, the data. Each output is a
// tensor of its own, named "kernel(problem)/output", dense and row-major.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "contracts/call.hpp"

namespace nbx::contracts {

struct StoredOutput {
  DLDataType dtype{};
  std::vector<std::int64_t> shape;
  Bytes bytes;
};

struct StoredPlace {
  DLDataType dtype{};
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes
};

/// "a/b.safetensors" for the record "a/b.json".
std::filesystem::path outputs_beside(const std::filesystem::path& record);

/// Writes outputs as they come. Throws std::runtime_error with the file's name where it cannot.
class OutputWriter {
 public:
  explicit OutputWriter(std::filesystem::path file);
  ~OutputWriter();  // without finish() nothing is left behind
  OutputWriter(const OutputWriter&) = delete;
  OutputWriter& operator=(const OutputWriter&) = delete;

  /// Any thread may call it. Formats that .safetensors has no name for are refused by std::runtime_error.
  void add(const std::string& kernel, const std::string& problem, const CallTensor& output, const Bytes& bytes);
  void finish();

 private:
  std::filesystem::path file_, body_;
  std::ofstream out_;
  std::mutex mutex_;
  std::map<std::string, StoredPlace> entries_;
  std::uint64_t size_ = 0;
};

/// Reads them back, one by one.
class StoredOutputs {
 public:
  /// Throws std::runtime_error that says what is wrong with the file.
  explicit StoredOutputs(std::filesystem::path file);
  /// Nothing where it is not among them.
  std::optional<StoredOutput> find(const std::string& kernel, const std::string& problem,
                                   const std::string& output) const;

 private:
  std::filesystem::path file_;
  std::map<std::string, StoredPlace> places_;
};

}  // namespace nbx::contracts
