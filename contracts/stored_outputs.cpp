#include "contracts/stored_outputs.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::uint64_t most_header = 100U << 20;  // the format's own limit

struct Row {
  DLDataType type;
  const char* name;
};
constexpr Row rows[] = {{f32_type, "F32"},
                        {f16_type, "F16"},
                        {bf16_type, "BF16"},
                        {{kDLFloat8_e4m3fn, 8, 1}, "F8_E4M3"},
                        {{kDLFloat8_e5m2, 8, 1}, "F8_E5M2"},
                        {int32_type, "I32"},
                        {{kDLUInt, 8, 1}, "U8"}};

std::string stored_name(DLDataType type) {
  for (const Row& row : rows) {
    if (same_type(row.type, type)) return row.name;
  }
  throw std::runtime_error(fmt::format("outputs of format {} cannot be stored", type_name(type)));
}

std::optional<DLDataType> type_of(const std::string& name) {
  for (const Row& row : rows) {
    if (name == row.name) return row.type;
  }
  return std::nullopt;
}

std::string tensor_name(const std::string& kernel, const std::string& problem, const std::string& output) {
  return fmt::format("{}({})/{}", kernel, problem, output);
}

[[noreturn]] void fail(const fs::path& file, const std::string& why) {
  throw std::runtime_error(fmt::format("stored outputs {}: {}", file.string(), why));
}

}  // namespace

fs::path outputs_beside(const fs::path& record) { return fs::path(record).replace_extension(".safetensors"); }

OutputWriter::OutputWriter(fs::path file) : file_(std::move(file)), body_(file_.string() + ".data") {
  out_.open(body_, std::ios::binary | std::ios::trunc);
  if (!out_) fail(file_, "cannot be written");
}

OutputWriter::~OutputWriter() {
  std::error_code ignored;
  fs::remove(body_, ignored);
}

void OutputWriter::add(const std::string& kernel, const std::string& problem, const CallTensor& output,
                       const Bytes& bytes) {
  stored_name(output.dtype);
  const std::lock_guard lock(mutex_);
  out_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  entries_[tensor_name(kernel, problem, output.name)] = {output.dtype, output.shape, size_, size_ + bytes.size()};
  size_ += bytes.size();
}

void OutputWriter::finish() {
  out_.close();
  json header = json::object();
  for (const auto& [name, entry] : entries_) {
    header[name] = {
        {"dtype", stored_name(entry.dtype)}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  const std::string text = header.dump();
  const fs::path half = file_.string() + ".tmp";
  {
    std::ofstream out(half, std::ios::binary | std::ios::trunc);
    for (std::uint64_t left = text.size(), i = 0; i < 8; ++i, left >>= 8) out.put(static_cast<char>(left & 0xFF));
    out << text;
    if (size_ > 0) out << std::ifstream(body_, std::ios::binary).rdbuf();
    if (!out.flush()) fail(file_, "cannot be written");
  }
  fs::rename(half, file_);
}

StoredOutputs::StoredOutputs(fs::path file) : file_(std::move(file)) {
  std::ifstream in(file_, std::ios::binary);
  std::uint64_t size = 0;
  for (int i = 0; i < 8; ++i) size |= static_cast<std::uint64_t>(static_cast<unsigned char>(in.get())) << (8 * i);
  if (!in) fail(file_, "cannot be read as .safetensors");
  if (size > most_header) fail(file_, fmt::format("a header of {} bytes", size));
  std::string text(size, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(size))) fail(file_, "it ends within its header");
  const std::uint64_t data = 8 + size, all = fs::file_size(file_);
  try {
    const json header = json::parse(text);
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      const auto dtype = type_of(entry.at("dtype"));
      if (!dtype) fail(file_, fmt::format("{} has format {}", name, entry.at("dtype").dump()));
      StoredPlace place{*dtype, entry.at("shape"), 0, 0};
      const auto offsets = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
      std::uint64_t bytes = dtype->bits / 8U;
      for (const std::int64_t extent : place.shape) bytes *= static_cast<std::uint64_t>(extent);
      if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] - offsets[0] != bytes ||
          offsets[1] > all - data) {
        fail(file_, fmt::format("{}: its data_offsets do not span the {} bytes of its shape", name, bytes));
      }
      place.begin = data + offsets[0];
      place.end = data + offsets[1];
      places_[name] = std::move(place);
    }
  } catch (const json::exception& error) {
    fail(file_, error.what());
  }
}

std::optional<StoredOutput> StoredOutputs::find(const std::string& kernel, const std::string& problem,
                                                const std::string& output) const {
  const auto at = places_.find(tensor_name(kernel, problem, output));
  if (at == places_.end()) return std::nullopt;
  const StoredPlace& place = at->second;
  StoredOutput out{place.dtype, place.shape, Bytes(place.end - place.begin)};
  std::ifstream in(file_, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(place.begin));
  if (!in.read(reinterpret_cast<char*>(out.bytes.data()), static_cast<std::streamsize>(out.bytes.size()))) {
    fail(file_, "it ends within its data");
  }
  return out;
}

}  // namespace nbx::contracts
