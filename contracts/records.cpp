#include "contracts/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "contracts/formats.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts {
namespace {

using nlohmann::json;

std::string hex(std::uint64_t x) { return fmt::format("{:016x}", x); }

std::uint64_t from_hex(const std::string& text) { return std::stoull(text, nullptr, 16); }

/// Blocks as one text of eight hex digits each: a record holds tens of thousands.
std::string blocks_text(const std::vector<std::uint32_t>& blocks) {
  std::string text;
  for (const std::uint32_t block : blocks) text += fmt::format("{:08x}", block);
  return text;
}

std::vector<std::uint32_t> blocks_from(const std::string& text) {
  std::vector<std::uint32_t> blocks;
  for (std::size_t i = 0; i + 8 <= text.size(); i += 8)
    blocks.push_back(static_cast<std::uint32_t>(std::stoul(text.substr(i, 8), nullptr, 16)));
  return blocks;
}

}  // namespace

Fingerprint fingerprint(const Bytes& dense, DLDataType type) {
  Fingerprint print;
  const auto n = static_cast<std::int64_t>(dense.size() / (type.bits / 8));
  print.whole = mix(static_cast<std::uint64_t>(n));
  for (std::int64_t first = 0; first < n; first += fingerprint_block) {
    std::uint64_t block = 0;
    for (std::int64_t i = first; i < std::min(n, first + fingerprint_block); ++i)
      block = mix(block ^ canonical(pattern_at(dense, type, i), type));
    print.blocks.push_back(static_cast<std::uint32_t>(block));
    print.whole = mix(print.whole ^ block);
  }
  return print;
}

Record read_record(const std::filesystem::path& file) try {
  std::ifstream in(file);
  const json j = json::parse(in);
  Record record;
  record.device = j.at("device");
  record.driver = j.at("driver");
  record.toolchain = j.at("toolchain");
  record.flags = j.at("flags");
  record.command = j.at("command");
  record.seed = j.at("seed");
  record.architecture = j.value("architecture", "");
  if (j.contains("machine_code"))
    for (const auto& [kernel, hash] : j.at("machine_code").items()) record.machine_code[kernel] = from_hex(hash);
  for (const auto& [kernel, problems] : j.at("kernels").items())
    for (const auto& [problem, outputs] : problems.items())
      for (const auto& [output, text] : outputs.items()) {
        const std::string hashes = text;
        record.kernels[kernel][problem][output] = {from_hex(hashes.substr(0, 16)), blocks_from(hashes.substr(17))};
      }
  return record;
} catch (const std::exception& error) {
  throw std::runtime_error(fmt::format("record {}: {}", file.filename().string(), error.what()));
}

Records Records::load(const std::filesystem::path& folder) {
  Records records;
  std::error_code none;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) try {
      records.records_.push_back(read_record(file));
    } catch (const std::exception& error) {
      records.errors_.push_back(error.what());
    }
  return records;
}

std::vector<Records::Found> Records::of_case(const std::string& kernel, const std::string& problem,
                                             std::uint64_t seed) const {
  std::vector<Found> found;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const Record& record = records_[i];
    if (record.seed != seed) continue;
    const auto k = record.kernels.find(kernel);
    if (k == record.kernels.end()) continue;
    const auto p = k->second.find(problem);
    if (p == k->second.end()) continue;
    const auto other = other_code_.find(i);
    found.push_back({&record, &p->second, other != other_code_.end() && other->second.contains(kernel)});
  }
  return found;
}

void write_record(const std::filesystem::path& file, const Record& record) {
  json j{{"device", record.device}, {"driver", record.driver},   {"toolchain", record.toolchain},
         {"flags", record.flags},   {"command", record.command}, {"seed", record.seed}};
  if (!record.architecture.empty()) j["architecture"] = record.architecture;
  for (const auto& [kernel, hash] : record.machine_code) j["machine_code"][kernel] = hex(hash);
  for (const auto& [kernel, problems] : record.kernels)
    for (const auto& [problem, outputs] : problems)
      for (const auto& [output, print] : outputs)
        j["kernels"][kernel][problem][output] = hex(print.whole) + " " + blocks_text(print.blocks);
  const std::filesystem::path temporary = file.string() + ".tmp";
  {
    std::ofstream out(temporary);
    out << j.dump(1) << '\n';
    if (!out.flush()) throw std::runtime_error(fmt::format("cannot write {}", temporary.string()));
  }
  std::filesystem::rename(temporary, file);
}

}  // namespace nbx::contracts
