// Units compiled and objects linked, each once: everything made lies in a folder under a name that its content gives.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "reports/bisect/units.hpp"

namespace nbx::reports::bisect {

/// A file that was made, or why it could not be.
struct Made {
  std::filesystem::path file;
  std::string why_not;  // the compiler's words; empty where it was made
  bool good() const { return why_not.empty(); }
};

/// Any number of threads may use one at once.
class Workshop {
 public:
  /// `folder` keeps what is made. `say` hears of each step that takes time.
  explicit Workshop(std::filesystem::path folder, std::function<void(const std::string&)> say = {});

  /// A unit's object: compiled, and every name localised that another object may have too (inline functions and
  /// variables, instantiations of templates). So each unit keeps its own copy of what its toolchain made of them, and
  /// the linker does not take one unit's for all. Tables of debugging and of the compiler's name are left out: what
  /// differs is code and data.
  Made object(const Unit& unit, const Toolchain& toolchain);

  /// The object that the unit's build has already, treated the same, or else what its own command makes: for units on
  /// which nothing that is asked depends.
  Made as_built(const Unit& unit);

  /// As object(), not localised, for mixing its functions.
  Made raw_object(const Unit& unit, const Toolchain& toolchain);

  /// Localises a raw object.
  Made localised(const std::filesystem::path& raw);

  /// Objects with functions of one that the other has too: `from_bad` are taken from `bad`, all others from `good`.
  Made mixed(const std::filesystem::path& good, const std::filesystem::path& bad,
             const std::vector<std::string>& from_bad);

  /// A pack. Its name is that of its objects and words.
  Made pack(const std::vector<std::filesystem::path>& objects, const std::vector<std::string>& link);

  /// `make` writes the file that it is given; it is called only where `key` was never made with success.
  Made once(const std::string& kind, const std::vector<std::string>& key, const std::string& ending,
            const std::function<std::string(const std::filesystem::path&)>& make);

  /// Files that were made by this object, and those that were there from an earlier time.
  std::size_t made() const { return made_; }
  std::size_t remembered() const { return remembered_; }

 private:
  std::string source_key(const Unit& unit, const std::vector<std::string>& words, std::string* why_not);
  std::string identity(const std::string& program);
  std::string hash_of(const std::filesystem::path& file);

  std::filesystem::path folder_;
  std::function<void(const std::string&)> say_;
  std::mutex mutex_;
  std::map<std::string, std::string> identities_, hashes_;
  std::map<std::string, std::shared_ptr<std::mutex>> making_;  // by file, so that nothing is made twice at once
  std::atomic<std::size_t> made_{0}, remembered_{0};
};

/// Functions that an object defines for others to see, by symbol.
std::vector<std::string> functions_of(const std::filesystem::path& object);

}  // namespace nbx::reports::bisect
