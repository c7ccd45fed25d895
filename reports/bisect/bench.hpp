// The bench that the bisect works at: packs put together from units of both toolchains, and what they do. Every
// question of the bisect, which units, which flag, which function, is a set of objects put before it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reports/bisect/behaviour.hpp"
#include "reports/bisect/objects.hpp"
#include "reports/bisect/search.hpp"

namespace nbx::reports::bisect {

struct Settings {
  PackUnits pack;
  Toolchain good, bad;
  Until until = Until::bits;
  contracts::RunOptions run;            // patterns, tier, seed, jobs, timeout
  std::filesystem::path folder;         // keeps what was built and judged
  std::set<std::string> good_anyway{};  // units that no selected kernel can depend on: taken as the build has them
  std::size_t most = 10'000;            // evaluations
  std::function<void(const std::string&)> say{};  // hears what is being done
};

/// A unit built by both toolchains.
struct BuiltUnit {
  Made good, bad;
  bool differs = false;  // both were made, to other code
};

/// Thrown where a kernel turned out to do one thing and then another: what was concluded with it is void.
struct FoundUnstable {};
/// The user asked to stop.
struct Stopped {};

class Bench {
 public:
  explicit Bench(const Settings& settings);

  /// Every unit with both toolchains, on as many threads as the settings' jobs.
  void build();
  const std::vector<BuiltUnit>& units() const { return units_; }

  /// The objects of the pack where the units of `from_bad` are the bad toolchain's. A unit that only one toolchain
  /// compiles is always that one's.
  std::vector<std::filesystem::path> objects(const Set& from_bad) const;

  /// What the good pack does. Throws std::runtime_error where it cannot be judged.
  void look_at_good();
  const Behaviour& good() const { return good_; }

  struct Seen {
    Answer answer = Answer::untestable;
    std::filesystem::path pack;
    std::vector<ChangedCase> changed;
    std::string why_not;
  };
  /// Links, judges twice, and holds it against the good pack. Throws FoundUnstable where a kernel that was not known to
  /// be unstable is, and Stopped.
  Seen see(const std::vector<std::filesystem::path>& objects);

  const std::set<std::string>& unstable() const { return unstable_; }
  std::size_t judged() const { return judged_; }
  std::size_t recalled() const { return recalled_; }  // of earlier runs
  Workshop& workshop() { return workshop_; }
  const Settings& settings() const { return settings_; }
  const std::filesystem::path& good_pack() const { return good_pack_; }

 private:
  Observed observe_once(const std::filesystem::path& pack);

  const Settings& settings_;
  Workshop workshop_;
  std::vector<BuiltUnit> units_;
  Behaviour good_;
  std::filesystem::path good_pack_;
  std::set<std::string> unstable_;
  std::set<std::filesystem::path> asked_;
  std::string judge_;
  std::size_t judged_ = 0, recalled_ = 0;
};

}  // namespace nbx::reports::bisect
