#include "reports/bisect/objects.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "contracts/codegen/process.hpp"
#include "reports/bisect/symbols.hpp"
#include "reports/content_hash.hpp"
#include "reports/program.hpp"
#include "reports/toolchains/mixed_nvcc.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports::bisect {
namespace {

namespace fs = std::filesystem;

std::string failure(const std::vector<std::string>& words, const Finished& finished) {
  const std::string said = finished.output.empty() ? fmt::format("it ended with {}", finished.code) : finished.output;
  return fmt::format("{}: {}", words.front(), said);
}

/// Empty, or why not.
std::string run(const std::vector<std::string>& words, const fs::path& folder = {}) {
  const Finished finished = run_program(words, {.folder = folder, .both = true});
  return finished.good() ? "" : failure(words, finished);
}

std::string write_lines(const fs::path& file, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return write_file(file, text);
}

/// `object` with its groups dissolved, as the linker would keep one group of a name, whatever is local in it, and
/// without what is neither code nor data. Empty, or why not.
std::string dissolved(const fs::path& object, const fs::path& file) {
  const std::string why_not = run({"ld", "-r", "--force-group-allocation", "-o", file, object});
  if (!why_not.empty()) return why_not;
  return run({"objcopy", "--strip-debug", "--remove-section=.comment", "--remove-section=.note.GNU-stack", file});
}

}  // namespace

Workshop::Workshop(fs::path folder, std::function<void(const std::string&)> say)
    : folder_(std::move(folder)), say_(std::move(say)) {
  fs::create_directories(folder_);
}

Made Workshop::once(const std::string& kind, const std::vector<std::string>& key, const std::string& ending,
                    const std::function<std::string(const fs::path&)>& make) {
  const fs::path file = folder_ / (kind + "-" + content_hash(key) + ending);
  std::shared_ptr<std::mutex> alone;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<std::mutex>& one = making_[file];
    if (!one) one = std::make_shared<std::mutex>();
    alone = one;
  }
  const std::lock_guard lock(*alone);
  if (fs::exists(file)) {
    ++remembered_;
    return {file, {}};
  }
  // Made beside its place and renamed, so that a run that was killed leaves nothing half made under a final name.
  const fs::path half = file.string() + ".half" + std::to_string(::getpid());
  std::string why_not = make(half);
  std::error_code error;
  if (why_not.empty()) {
    fs::rename(half, file, error);
    if (error) why_not = file.string() + ": " + error.message();
  }
  fs::remove(half, error);
  if (why_not.empty()) ++made_;
  return {file, why_not};
}

std::string Workshop::identity(const std::string& program) {
  const std::lock_guard lock(mutex_);
  auto at = identities_.find(program);
  if (at == identities_.end()) at = identities_.emplace(program, compiler_identity(program)).first;
  return at->second;
}

std::string Workshop::hash_of(const fs::path& file) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = hashes_.find(file); at != hashes_.end()) return at->second;
  }
  const std::string hash = file_hash(file);
  const std::lock_guard lock(mutex_);
  return hashes_.emplace(file, hash).first->second;
}

std::string Workshop::source_key(const Unit& unit, const std::vector<std::string>& words, std::string* why_not) {
  std::vector<std::string> asking = words;
  asking.push_back("-M");
  // Without what it warns of: nvcc does of a flag that is given twice, whatever it is told of warnings.
  const Finished rule = run_program(asking, {.folder = unit.folder, .both = false});
  if (!rule.good()) {
    *why_not = failure(words, run_program(asking, {.folder = unit.folder, .both = true}));
    return {};
  }
  std::vector<std::string> key = words;
  key.push_back(identity(words.front()));
  for (const std::string& file : contracts::codegen::prerequisites(rule.output)) {
    const fs::path path = fs::path(file).is_absolute() ? fs::path(file) : unit.folder / file;
    key.push_back(file);
    key.push_back(hash_of(path));
  }
  return content_hash(key);
}

Made Workshop::raw_object(const Unit& unit, const Toolchain& toolchain) {
  std::vector<std::string> words = compile_words(unit, toolchain);
  if (find_program(words.front()).empty()) return {{}, words.front() + ": there is no such program here"};
  if (unit.cuda && !toolchain.ptxas.empty()) {
    try {
      words.front() = mixed_nvcc(words.front(), toolchain.ptxas, folder_);
    } catch (const std::exception& error) {
      return {{}, error.what()};
    }
  }
  Made out;
  const std::string key = source_key(unit, words, &out.why_not);
  if (!out.good()) return out;
  return once("raw", {key}, ".o", [&](const fs::path& file) {
    if (say_) say_(fmt::format("{} with {}", unit.name, toolchain.name));
    std::vector<std::string> compile = words;
    const fs::path object = file.string() + ".o";
    compile.insert(compile.end(), {"-c", "-o", object});
    std::string why_not = run(compile, unit.folder);
    if (why_not.empty()) why_not = dissolved(object, file);
    fs::remove(object);
    return why_not;
  });
}

Made Workshop::as_built(const Unit& unit) {
  if (unit.object.empty() || !fs::exists(unit.object)) return object(unit, {});
  const Made raw =
      once("ready", {hash_of(unit.object)}, ".o", [&](const fs::path& file) { return dissolved(unit.object, file); });
  return raw.good() ? localised(raw.file) : raw;
}

Made Workshop::localised(const fs::path& raw) {
  return once("local", {hash_of(raw)}, ".o", [&](const fs::path& file) -> std::string {
    const fs::path list = file.string() + ".names", weak = file.string() + ".weak";
    std::vector<std::string> names;
    for (const Symbol& symbol : symbols_of(raw)) {
      if (symbol.defined && symbol.shared) names.push_back(symbol.name);
    }
    if (names.empty()) return fs::copy_file(raw, file) ? "" : file.string() + ": not written";
    std::string why_not = write_lines(list, names);
    // objcopy leaves a unique symbol (an inline variable of g++) as it is, and a weak one not.
    if (why_not.empty()) why_not = rebind(raw, weak, [](const Symbol& symbol) { return !symbol.shared; });
    if (why_not.empty()) why_not = run({"objcopy", "--localize-symbols=" + list.string(), weak, file});
    fs::remove(list);
    fs::remove(weak);
    return why_not;
  });
}

Made Workshop::object(const Unit& unit, const Toolchain& toolchain) {
  const Made raw = raw_object(unit, toolchain);
  return raw.good() ? localised(raw.file) : raw;
}

Made Workshop::mixed(const fs::path& good, const fs::path& bad, const std::vector<std::string>& from_bad) {
  std::vector<std::string> key{hash_of(good), hash_of(bad)};
  key.insert(key.end(), from_bad.begin(), from_bad.end());
  return once("mixed", key, ".o", [&](const fs::path& file) {
    const std::set<std::string> chosen(from_bad.begin(), from_bad.end());
    const fs::path ours = file.string() + ".good", theirs = file.string() + ".bad";
    // The strong definition wins over the weak one, wherever it is called from.
    std::string why_not = rebind(good, ours, [&](const Symbol& symbol) { return chosen.count(symbol.name) == 0; });
    if (why_not.empty()) {
      why_not = rebind(bad, theirs, [&](const Symbol& symbol) { return chosen.count(symbol.name) != 0; });
    }
    if (why_not.empty()) why_not = run({"ld", "-r", "-o", file, ours, theirs});
    fs::remove(ours);
    fs::remove(theirs);
    return why_not;
  });
}

Made Workshop::pack(const std::vector<fs::path>& objects, const std::vector<std::string>& link) {
  std::vector<std::string> key = link;
  for (const fs::path& object : objects) key.push_back(hash_of(object));
  return once("pack", key, ".so", [&](const fs::path& file) {
    std::vector<std::string> words{"c++", "-shared", "-o", file};
    for (const fs::path& object : objects) words.push_back(object);
    words.insert(words.end(), link.begin(), link.end());
    return run(words);
  });
}

std::vector<std::string> functions_of(const fs::path& object) {
  std::vector<std::string> names;
  for (const Symbol& symbol : symbols_of(object)) {
    if (symbol.defined && symbol.function) names.push_back(symbol.name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace nbx::reports::bisect
