#include "contracts/codegen/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace nbx::contracts::codegen {
namespace {

using nlohmann::json;

// The limits of gridDim, the same on every architecture of the record.
constexpr const char* grid = "2147483647 65535 65535";

struct Field {
  const char* name;
  std::int64_t Function::*value;
};
constexpr Field fields[] = {{"registers", &Function::registers},
                            {"shared", &Function::shared},
                            {"stack", &Function::stack},
                            {"spill_stores", &Function::spill_stores},
                            {"spill_loads", &Function::spill_loads},
                            {"barriers", &Function::barriers},
                            {"constant", &Function::constant},
                            {"threads", &Function::threads},
                            {"code", &Function::code}};

std::string text_of(const Function& function) {
  std::string text;
  for (const Field& field : fields) text += fmt::format("{} {} ", field.name, function.*field.value);
  return text + fmt::format("machine_code {:016x}", function.machine_code);
}

Function function_of(const std::string& text) {
  std::istringstream words(text);
  Function function;
  std::string name, value;
  for (const Field& field : fields) {
    if (!(words >> name >> value) || name != field.name) {
      throw std::runtime_error(fmt::format("'{}' stands where '{}' is expected", name, field.name));
    }
    function.*field.value = std::stoll(value);
  }
  if (!(words >> name >> value) || name != "machine_code") throw std::runtime_error("machine_code is missing");
  function.machine_code = std::stoull(value, nullptr, 16);
  return function;
}

}  // namespace

std::vector<std::pair<std::string, std::int64_t>> resources(const Function& function) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  for (const Field& field : fields) {
    if (field.value != &Function::code) out.emplace_back(field.name, function.*field.value);
  }
  return out;
}

Record merged(const Record& kept, Record made) {
  if (kept.compiler != made.compiler || kept.flags != made.flags) return made;
  for (const auto& [kernel, architectures] : kept.kernels) {
    for (const auto& [architecture, code] : architectures) made.kernels[kernel].try_emplace(architecture, code);
  }
  return made;
}

Record read_record(const std::filesystem::path& file) {
  try {
    std::ifstream in(file);
    const json j = json::parse(in);
    Record record{{j.at("compiler"), j.at("host")}, j.at("flags"), {}};
    for (const auto& [kernel, architectures] : j.at("kernels").items()) {
      for (const auto& [architecture, code] : architectures.items()) {
        Code& to = record.kernels[kernel][architecture];
        to.ptx = std::stoull(code.at("ptx").get<std::string>(), nullptr, 16);
        for (const auto& [name, text] : code.at("functions").items()) to.functions[name] = function_of(text);
      }
    }
    return record;
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("codegen record {}: {}", file.string(), error.what()));
  }
}

void write_record(const std::filesystem::path& file, const Record& record) {
  json j{{"compiler", record.compiler.device}, {"host", record.compiler.host}, {"flags", record.flags}, {"grid", grid}};
  for (const auto& [kernel, architectures] : record.kernels) {
    for (const auto& [architecture, code] : architectures) {
      json& to = j["kernels"][kernel][architecture];
      to["ptx"] = fmt::format("{:016x}", code.ptx);
      for (const auto& [name, function] : code.functions) to["functions"][name] = text_of(function);
    }
  }
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  const std::filesystem::path temporary = file.string() + ".tmp";
  {
    std::ofstream out(temporary);
    out << j.dump(1) << '\n';
    if (!out.flush()) throw std::runtime_error(fmt::format("cannot write {}", temporary.string()));
  }
  std::filesystem::rename(temporary, file);
}

std::string file_name(const Compiler& compiler) {
  std::string name = compiler.device + "_" + compiler.host + ".json";
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::vector<Record> read_records(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Record> records;
  for (const auto& file : files) records.push_back(read_record(file));
  return records;
}

}  // namespace nbx::contracts::codegen
