#include "contracts/codegen/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "contracts/codegen/file_text.hpp"
#include "contracts/codegen/process.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts::codegen {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Hashes of files, each read once.
class ContentHashes {
 public:
  /// 0 where it cannot be read.
  std::uint64_t of(const std::string& path) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(path); known != known_.end()) return known->second;
    }
    std::uint64_t hash = 0;
    std::error_code none;
    if (fs::is_regular_file(path, none)) hash = hash_text(file_text(path));
    const std::lock_guard lock(mutex_);
    return known_[path] = hash;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> known_;
};

/// One unit's command: what is left when its output and architecture are taken away.
struct Command {
  std::string kernel, file;
  fs::path folder;
  std::vector<std::string> words;    // the compiler first
  std::set<std::string> specific{};  // architectures that the build names with their own instructions: sm_90a

  /// What to compile for where `architecture` is asked for: code with its own instructions, if the build has that.
  std::string target(const std::string& architecture) const {
    return specific.contains(architecture + "a") ? architecture + "a" : architecture;
  }
};

bool is_cuda(const std::vector<std::string>& words, const std::string& file) {
  if (file.ends_with(".cu")) return true;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "-x" && words[i + 1] == "cu") return true;
  }
  return false;
}

/// Without launcher, output, architecture and dependency file.
std::vector<std::string> stripped(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  std::size_t first = 0;
  while (first < words.size() && fs::path(words[first]).filename().string().find("nvcc") == std::string::npos) ++first;
  for (std::size_t i = first; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool with_value = word == "-o" || word == "-arch" || word == "-gencode" || word == "-MF" || word == "-MT" ||
                            word == "-MQ" || word == "--generate-code" || word == "--gpu-architecture";
    if (with_value) {
      ++i;
    } else if (word != "-c" && word != "-MD" && !word.starts_with("--generate-code=") && !word.starts_with("-arch=") &&
               !word.starts_with("-gencode=") && !word.starts_with("--gpu-architecture=")) {
      out.push_back(word);
    }
  }
  return out;
}

std::vector<Command> read_commands(const fs::path& file, const std::vector<Unit>& units, const std::string& nvcc) {
  std::vector<Command> commands;
  for (const json& entry : json::parse(file_text(file))) {
    const std::string source = entry.at("file");
    const auto unit =
        std::find_if(units.begin(), units.end(), [&](const Unit& one) { return source.ends_with("/" + one.unit); });
    if (unit == units.end()) continue;
    std::vector<std::string> words = shell_words(entry.at("command"));
    if (!is_cuda(words, source)) continue;
    Command command{unit->kernel, source, entry.at("directory").get<std::string>(), stripped(words)};
    if (command.words.empty()) continue;
    if (!nvcc.empty()) command.words[0] = nvcc;
    static const std::regex specific("sm_[0-9]+a");
    for (const std::string& word : words) {
      for (std::sregex_iterator at(word.begin(), word.end(), specific), end; at != end; ++at) {
        command.specific.insert(at->str());
      }
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

Compiler identify(const std::vector<std::string>& words) {
  const Ended version = run_tool({words[0], "--version"});
  std::smatch match;
  static const std::regex number("V(\\d+\\.\\d+\\.\\d+)");
  if (version.code != 0 || !std::regex_search(version.output, match, number)) {
    throw std::runtime_error(fmt::format("{} --version tells no version: {}", words[0], version.output));
  }
  std::string host = "g++";
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "-ccbin") host = words[i + 1];
    if (words[i].starts_with("-ccbin=")) host = words[i].substr(7);
  }
  const Ended of_host = run_tool({host, "-dumpfullversion"});
  std::string host_version = of_host.code == 0 ? of_host.output : "unknown";
  while (!host_version.empty() && host_version.back() == '\n') host_version.pop_back();
  return {"nvcc " + match[1].str(), fs::path(host).filename().string() + " " + host_version};
}

/// Everything of the command that decides the code, without the paths of this machine.
std::string flags_text(const Command& command) {
  std::string text;
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const std::string& word = command.words[i];
    if (word == command.file || word.starts_with("-I") || word.starts_with("-isystem") || word.starts_with("-D"))
      continue;
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

/// True where every file that the last compilation read has the content of then.
bool is_current(const fs::path& folder, ContentHashes& hashes) {
  std::error_code none;
  if (!fs::exists(folder / "read.json", none)) return false;
  const json read = json::parse(file_text(folder / "read.json"), nullptr, false);
  if (read.is_discarded()) return false;
  for (const auto& [file, hash] : read.items()) {
    if (hash != hashes.of(file)) return false;
  }
  return true;
}

/// Compiles one unit for one architecture into `folder`. Returns what went wrong, else empty.
std::string compile(const Command& command, const std::string& architecture, const fs::path& folder,
                    ContentHashes& hashes) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::vector<std::string> words = command.words;
  for (const std::string& word :
       {std::string("-cubin"), "-arch=" + command.target(architecture), std::string("-Xptxas=-v"),
        std::string("--keep"), "--keep-dir=" + folder.string(), std::string("-MD"), std::string("-MF"),
        (folder / "rule").string(), std::string("-o"), (folder / "cubin").string()}) {
    words.push_back(word);
  }
  const Ended ended = run_tool(words, command.folder);
  if (ended.code != 0) {
    return fmt::format("{} for {}: {} ended with {}:\n{}", command.kernel, architecture, words[0], ended.code,
                       ended.output);
  }
  std::ofstream(folder / "log") << ended.output;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".ptx") fs::rename(entry.path(), folder / "ptx");
  }
  json read = json::object();
  for (const std::string& file : prerequisites(file_text(folder / "rule"))) {
    const std::string path = (command.folder / file).string();
    read[path] = hashes.of(path);
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name != "cubin" && name != "ptx" && name != "log") fs::remove(entry.path());
  }
  std::ofstream(folder / "read.json") << read.dump() << '\n';
  return {};
}

Code read_code(const fs::path& folder) {
  Code code;
  code.functions = read_cubin(file_text(folder / "cubin"), (folder / "cubin").string());
  add_assembler_log(file_text(folder / "log"), code.functions);
  code.ptx = ptx_hash(file_text(folder / "ptx"));
  return code;
}

/// The wanted architectures that the compiler knows, or all of them; the others go to `unknown`.
std::vector<std::string> known_architectures(const std::string& nvcc, const std::vector<std::string>& wanted,
                                             std::vector<std::string>& unknown) {
  const Ended list = run_tool({nvcc, "--list-gpu-code"});
  std::vector<std::string> all;
  std::istringstream lines(list.output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("sm_") && std::atoi(line.c_str() + 3) >= least_architecture) all.push_back(line);
  }
  if (wanted.empty()) return all;
  std::vector<std::string> known;
  for (const std::string& one : wanted) {
    (std::find(all.begin(), all.end(), one) != all.end() ? known : unknown).push_back(one);
  }
  return known;
}

}  // namespace

Build build(const std::vector<Unit>& units, const BuildOptions& options, const std::atomic<bool>& stop) {
  const std::vector<Command> commands = read_commands(options.commands, units, options.nvcc);
  if (commands.empty()) {
    throw std::runtime_error(
        fmt::format("{} has no CUDA command for any of {} kernels: no nvcc when it was configured?",
                    options.commands.string(), units.size()));
  }
  Build out;
  out.record.compiler = identify(commands[0].words);
  out.record.flags = flags_text(commands[0]);
  const auto architectures = known_architectures(commands[0].words[0], options.architectures, out.unknown);

  ContentHashes hashes;
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  const auto one = [&](const Command& command, const std::string& architecture) {
    std::string key = out.record.compiler.name() + "\n" + command.target(architecture);
    for (const std::string& word : command.words) key += "\n" + word;
    const fs::path folder = options.cache / fmt::format("{}.{}.{:016x}", command.kernel, architecture, hash_text(key));
    const bool cached = is_current(folder, hashes);
    std::string error = cached ? "" : compile(command, architecture, folder, hashes);
    Code code;
    if (error.empty()) code = read_code(folder);
    const std::lock_guard lock(mutex);
    ++(cached ? out.cached : out.compiled);
    if (error.empty())
      out.record.kernels[command.kernel][architecture] = code;
    else
      out.errors.push_back(error);
  };
  const auto work = [&] {
    for (std::size_t i = next++; i < commands.size() * architectures.size() && !stop; i = next++) {
      const Command& command = commands[i / architectures.size()];
      try {
        one(command, architectures[i % architectures.size()]);
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        out.errors.push_back(fmt::format("{}: {}", command.kernel, error.what()));
      }
    }
  };
  const unsigned jobs =
      options.jobs > 0 ? static_cast<unsigned>(options.jobs) : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (unsigned job = 0; job < jobs; ++job) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::sort(out.errors.begin(), out.errors.end());
  return out;
}

}  // namespace nbx::contracts::codegen
