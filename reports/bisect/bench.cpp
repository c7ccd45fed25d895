#include "reports/bisect/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "reports/content_hash.hpp"
#include "reports/interrupt.hpp"
#include "reports/selection.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports::bisect {
namespace {

namespace fs = std::filesystem;

/// What a verdict depends on beside the pack.
std::string judge_key(const Settings& settings) {
  std::vector<std::string> key{file_hash("/proc/self/exe"),       until_name(settings.until),
                               tier_name(settings.run.tier),      std::to_string(settings.run.seed),
                               std::to_string(settings.run.gate), std::to_string(settings.run.timeout.count())};
  key.insert(key.end(), settings.run.patterns.begin(), settings.run.patterns.end());
  return content_hash(key);
}

}  // namespace

Bench::Bench(const Settings& settings)
    : settings_(settings), workshop_(settings.folder, settings.say), judge_(judge_key(settings)) {}

void Bench::build() {
  units_.resize(settings_.pack.units.size());
  std::atomic<std::size_t> next{0};
  std::exception_ptr failed;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < 2 * units_.size() && !stop_requested(); i = next++) {
        const Unit& unit = settings_.pack.units[i / 2];
        const bool left_out = settings_.good_anyway.count(unit.name) != 0;
        if (i % 2 == 0) {
          units_[i / 2].good = left_out ? workshop_.as_built(unit) : workshop_.object(unit, settings_.good);
        } else if (!left_out) {
          units_[i / 2].bad = workshop_.object(unit, settings_.bad);
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failed = std::current_exception();
    }
  };
  const std::size_t jobs = settings_.run.jobs > 0 ? static_cast<std::size_t>(settings_.run.jobs)
                                                  : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t j = 0; j < jobs; ++j) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (failed) std::rethrow_exception(failed);
  if (stop_requested()) throw Stopped{};
  for (std::size_t i = 0; i < units_.size(); ++i) {
    BuiltUnit& unit = units_[i];
    if (settings_.good_anyway.count(settings_.pack.units[i].name) != 0) unit.bad = unit.good;
    unit.differs = unit.good.good() && unit.bad.good() && file_hash(unit.good.file) != file_hash(unit.bad.file);
  }
}

std::vector<fs::path> Bench::objects(const Set& from_bad) const {
  std::vector<fs::path> out;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const bool bad = std::binary_search(from_bad.begin(), from_bad.end(), i) || !units_[i].good.good();
    out.push_back(bad ? units_[i].bad.file : units_[i].good.file);
  }
  return out;
}

Observed Bench::observe_once(const fs::path& pack) {
  std::string fresh;
  const Made seen = workshop_.once("seen", {file_hash(pack), judge_}, ".json", [&](const fs::path& file) {
    const Observed observed = observe(pack, settings_.until, settings_.run);
    if (stop_requested()) throw Stopped{};
    return write_file(file, fresh = to_json(observed));
  });
  if (!seen.good()) throw std::runtime_error(seen.why_not);
  if (asked_.insert(pack).second) ++(fresh.empty() ? recalled_ : judged_);
  return observed_from_json(fresh.empty() ? read_file(seen.file) : fresh);
}

void Bench::look_at_good() {
  const Made pack = workshop_.pack(objects({}), settings_.pack.link);
  if (!pack.good()) throw std::runtime_error("the good toolchain's objects do not link: " + pack.why_not);
  const Observed observed = observe_once(pack.file);
  if (!observed.good()) throw std::runtime_error("the good toolchain's pack cannot be judged: " + observed.why_not);
  good_pack_ = pack.file;
  good_ = observed.behaviour;
  unstable_.insert(observed.unstable.begin(), observed.unstable.end());
}

Bench::Seen Bench::see(const std::vector<fs::path>& objects) {
  if (stop_requested()) throw Stopped{};
  Seen seen;
  const Made pack = workshop_.pack(objects, settings_.pack.link);
  seen.pack = pack.file;
  seen.why_not = pack.why_not;
  if (!pack.good()) return seen;
  const Observed observed = observe_once(pack.file);
  seen.why_not = observed.why_not;
  if (!observed.good()) return seen;
  const std::size_t known = unstable_.size();
  unstable_.insert(observed.unstable.begin(), observed.unstable.end());
  if (unstable_.size() != known) throw FoundUnstable{};
  seen.changed = changed_cases(good_, observed.behaviour, settings_.until, unstable_);
  seen.answer = seen.changed.empty() ? Answer::same : Answer::changed;
  return seen;
}

}  // namespace nbx::reports::bisect
