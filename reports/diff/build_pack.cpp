#include "reports/diff/build_pack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "contracts/recorder.hpp"
#include "reports/interrupt.hpp"

namespace nbx::reports::diff {

namespace fs = std::filesystem;
using bisect::Made;
using bisect::Stopped;

std::vector<Made> build_units(const bisect::Settings& settings, bisect::Workshop& workshop,
                              const Toolchain& toolchain) {
  const std::vector<bisect::Unit>& units = settings.pack.units;
  std::vector<Made> made(units.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < units.size() && !stop_requested(); i = next++) {
      const bool left_out = settings.good_anyway.count(units[i].name) != 0;
      try {
        made[i] = left_out ? workshop.as_built(units[i]) : workshop.object(units[i], toolchain);
      } catch (const std::exception& error) {
        made[i].why_not = error.what();
      }
    }
  };
  const std::size_t jobs = settings.run.jobs > 0 ? static_cast<std::size_t>(settings.run.jobs)
                                                 : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t j = 0; j < jobs; ++j) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (stop_requested()) throw Stopped{};
  return made;
}

Made build_pack(const bisect::Settings& settings, bisect::Workshop& workshop, const Toolchain& toolchain,
                std::vector<std::string>& failed) {
  const std::vector<Made> made = build_units(settings, workshop, toolchain);
  std::vector<fs::path> objects;
  for (std::size_t i = 0; i < made.size(); ++i) {
    objects.push_back(made[i].file);
    if (!made[i].good()) failed.push_back(fmt::format("{}: {}", settings.pack.units[i].name, made[i].why_not));
  }
  if (!failed.empty()) return {{}, failed.front()};
  return workshop.pack(objects, settings.pack.link);
}

contracts::Record recorded(const fs::path& pack, const bisect::Settings& settings, const Toolchain& toolchain,
                           std::vector<std::string>& failed) {
  contracts::RunOptions options = settings.run;
  options.packs.clear();
  options.named_packs = {pack};
  contracts::Recording made = contracts::record(options, stop_requested());
  if (stop_requested()) throw Stopped{};
  const std::string whose = toolchain.name.empty() ? "" : toolchain.name + ": ";
  for (const std::string& problem : made.problems) failed.push_back(whose + problem);
  return std::move(made.record);
}

}  // namespace nbx::reports::diff
