// Tensors from a .safetensors file: eight bytes with the length of a JSON header (little-endian), the header, the data.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "oracle/view.hpp"

namespace nbx::reports {

/// Dense and row-major, of format F32, F16 or BF16.
struct StoredTensor {
  std::vector<std::byte> bytes;
  oracle::Format format = oracle::Format::f32;
  std::vector<std::int64_t> shape;

  oracle::View view() const { return {.bytes = bytes, .format = format, .shape = shape}; }
};

/// The tensors of these names. Throws UsageError, which says what is wrong with which, for a file that has them not.
std::map<std::string, StoredTensor> read_safetensors(const std::filesystem::path& file,
                                                     const std::vector<std::string>& names);

}  // namespace nbx::reports
