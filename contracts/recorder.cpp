#include "contracts/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "contracts/code_evidence.hpp"
#include "contracts/gates/compare.hpp"
#include "contracts/inventory.hpp"
#include "contracts/pattern.hpp"

namespace nbx::contracts {
namespace {

struct Piece {
  const Inventory::Entry* entry;
  std::size_t problem;
};

/// Notes in the record which machine code ran, where its kernels run on a device.
void add_machine_code(const Inventory& inventory, Recording& recording) {
  std::map<std::size_t, std::map<std::string, std::string>> units;  // by pack, by kernel
  for (const Inventory::Entry& entry : inventory.honest) {
    const bool on_device = inventory.packs[entry.pack].info.device.device_type == kDLCUDA;
    if (entry.selected && on_device && recording.record.kernels.contains(entry.kernel->name))
      units[entry.pack][entry.kernel->name] = entry.kernel->unit;
  }
  for (const auto& [pack, wanted] : units) {
    const std::string& architecture = inventory.packs[pack].info.imitates;
    recording.record.architecture = architecture;
    try {
      const auto code = kernel_code(inventory.packs[pack].file, architecture, wanted);
      recording.record.machine_code.insert(code.begin(), code.end());
      if (code.size() < wanted.size()) {
        recording.notes.push_back(
            fmt::format("pack {} has no machine code for {} of {} of {} kernels, so the record names none of theirs",
                        inventory.packs[pack].info.name, architecture, wanted.size() - code.size(), wanted.size()));
      }
    } catch (const std::exception& error) {
      recording.problems.push_back(error.what());
    }
  }
}

}  // namespace

Recording record(const RunOptions& options, const std::atomic<bool>& stop, const KeepOutput& keep) {
  RunOptions of_device = options;
  if (of_device.device.empty()) of_device.device = "cpu";
  const auto inventory = open_packs(of_device);
  Recording recording;
  recording.notes = inventory->notes;
  recording.problems = inventory->errors;
  std::vector<Piece> pieces;
  for (const Inventory::Entry& entry : inventory->honest) {
    if (!entry.selected) continue;
    const PackInfo& pack = inventory->packs[entry.pack].info;
    recording.record.device = pack.device_name;
    recording.record.driver = pack.driver;
    recording.record.toolchain = pack.toolchain;
    recording.record.flags = pack.flags;
    const auto problems = entry.family->problems();
    for (std::size_t p = 0; p < problems.size(); ++p)
      if (problems[p].tier <= options.tier &&
          selects_case(options.patterns, entry.kernel->name, "gate3.twin", problems[p].name))
        pieces.push_back({&entry, p});
  }
  recording.record.seed = options.seed;
  // As typed, but for where the file goes.
  for (std::size_t i = 0; i < options.command.size(); ++i) {
    if (options.command[i] == "--output") {
      ++i;
      continue;
    }
    if (!recording.record.command.empty()) recording.record.command += ' ';
    recording.record.command += options.command[i];
  }

  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    Children children(*inventory, options.timeout);
    for (std::size_t i = next++; i < pieces.size() && !stop; i = next++) {
      const Inventory::Entry& entry = *pieces[i].entry;
      const std::string& problem = entry.family->problems()[pieces[i].problem].name;
      const auto instance = entry.family->make(pieces[i].problem, entry.kernel->format, options.seed);
      const Call call = call_for(*entry.family, *entry.kernel, instance->call());
      const Outcome outcome = children.of(entry.pack).execute(call);
      if (stop) return;
      const std::lock_guard lock(mutex);
      if (outcome.kind != Outcome::Kind::ran) {
        if (outcome.kind != Outcome::Kind::refused || outcome.status != NBX_UNSUPPORTED) {
          recording.problems.push_back(fmt::format("{} on {}: {}", entry.kernel->name, problem, outcome.message));
          recording.failed.push_back({entry.kernel->name, problem, outcome.message});
        }
        continue;
      }
      const auto tensors = output_tensors(call);
      CaseFingerprints& prints = recording.record.kernels[entry.kernel->name][problem];
      for (std::size_t o = 0; o < tensors.size(); ++o) {
        prints[tensors[o]->name] = fingerprint(outcome.outputs[o], tensors[o]->dtype);
        if (!keep) continue;
        try {
          keep(entry.kernel->name, problem, *tensors[o], outcome.outputs[o]);
        } catch (const std::exception& error) {
          recording.problems.push_back(error.what());
        }
      }
      ++recording.cases;
    }
  };
  const std::size_t jobs =
      options.jobs > 0 ? static_cast<std::size_t>(options.jobs) : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t j = 0; j < jobs; ++j) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  add_machine_code(*inventory, recording);
  return recording;
}

}  // namespace nbx::contracts
