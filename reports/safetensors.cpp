#include "reports/safetensors.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reports/session.hpp"

namespace nbx::reports {
namespace {

constexpr std::uint64_t most_header = 100u << 20;  // the format's own limit

oracle::Format format_of(const std::string& dtype, const std::string& where) {
  if (dtype == "F32") return oracle::Format::f32;
  if (dtype == "F16") return oracle::Format::f16;
  if (dtype == "BF16") return oracle::Format::bf16;
  throw UsageError(fmt::format("{}: format {}; accepted: F32, F16, BF16", where, dtype));
}

StoredTensor read_tensor(std::ifstream& in, const nlohmann::json& entry, std::uint64_t data, const std::string& where) {
  StoredTensor tensor;
  tensor.format = format_of(entry.at("dtype").get<std::string>(), where);
  entry.at("shape").get_to(tensor.shape);
  const auto offsets = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
  const auto bytes = static_cast<std::uint64_t>(tensor.view().size()) *
                     static_cast<std::uint64_t>(oracle::traits(tensor.format).bytes);
  if (tensor.shape.size() != 4) {
    throw UsageError(
        fmt::format("{}: {} axes; accepted: 4, [batch, heads, rows, head dim]", where, tensor.shape.size()));
  }
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] - offsets[0] != bytes) {
    throw UsageError(fmt::format("{}: its data_offsets do not span the {} bytes of its shape", where, bytes));
  }
  tensor.bytes.resize(bytes);
  in.seekg(static_cast<std::streamoff>(data + offsets[0]));
  if (!in.read(reinterpret_cast<char*>(tensor.bytes.data()), static_cast<std::streamsize>(bytes))) {
    throw UsageError(fmt::format("{}: the file ends within its data", where));
  }
  return tensor;
}

}  // namespace

std::map<std::string, StoredTensor> read_safetensors(const std::filesystem::path& file,
                                                     const std::vector<std::string>& names) {
  std::ifstream in(file, std::ios::binary);
  unsigned char length[8] = {};
  if (!in.read(reinterpret_cast<char*>(length), sizeof length)) {
    throw UsageError(fmt::format("{}: cannot be read as .safetensors", file.string()));
  }
  std::uint64_t size = 0;
  for (int i = 7; i >= 0; --i) size = size << 8 | length[i];
  if (size > most_header) throw UsageError(fmt::format("{}: a header of {} bytes", file.string(), size));
  std::string header(size, '\0');
  if (!in.read(header.data(), static_cast<std::streamsize>(size))) {
    throw UsageError(fmt::format("{}: the file ends within its header", file.string()));
  }
  std::map<std::string, StoredTensor> out;
  try {
    const nlohmann::json json = nlohmann::json::parse(header);
    for (const std::string& name : names) {
      const std::string where = fmt::format("{}, tensor {}", file.string(), name);
      if (!json.contains(name)) throw UsageError(where + ": missing");
      out[name] = read_tensor(in, json[name], sizeof length + size, where);
    }
  } catch (const nlohmann::json::exception& error) {
    throw UsageError(fmt::format("{}: its header is no .safetensors header: {}", file.string(), error.what()));
  }
  return out;
}

}  // namespace nbx::reports
