// nbx-contract probe: the matrix units of the live device against their models.
#include "contracts/probe.hpp"

#include <fmt/format.h>

#include <memory>

#include "reports/commands/commands.hpp"
#include "reports/exit_code.hpp"
#include "reports/text.hpp"

namespace nbx::reports {
namespace {

struct Words {
  std::string device_pack, model_pack;
  std::uint64_t seed = 1;
  std::int64_t tiles = 20'480;
};

int probe_device(const Words& words, const Session& session) {
  const auto pack = [&](const std::string& named, const char* own) {
    return named.empty() ? session.folder / "packs" / own : std::filesystem::path(named);
  };
  const contracts::Probe probe = contracts::probe(pack(words.device_pack, "units_cuda.so"),
                                                  pack(words.model_pack, "units.so"), words.seed, words.tiles);
  if (!probe.no_device.empty()) {
    fmt::print(stderr, "nbx-contract: nothing was probed: {}\n", probe.no_device);
    return exit_nothing;
  }
  fmt::print("{}, {}   seed {}\n", probe.device, probe.architecture, words.seed);
  std::int64_t deviations = 0, probed = 0;
  for (const contracts::ProbedUnit& unit : probe.units) {
    if (!unit.absent.empty()) {
      fmt::print("  {:<25} not there: {}\n", unit.name, unit.absent);
      continue;
    }
    fmt::print("  {:<25} {} elements, {} deviations\n", unit.name, grouped(unit.elements), grouped(unit.deviations));
    deviations += unit.deviations;
    ++probed;
  }
  for (const contracts::ProbedUnit& unit : probe.units) {
    for (const std::string& line : unit.lines) fmt::print("{}\n", line);
  }
  if (deviations > 0) {
    fmt::print("The lines above are test data for tests/kernels/vectors/lines.txt: what the device gave.\n");
  }
  for (const std::string& error : probe.errors) fmt::print(stderr, "nbx-contract: {}\n", error);
  if (deviations > 0) return exit_red;
  if (!probe.errors.empty()) return exit_harness;
  return probed > 0 ? exit_ok : exit_nothing;
}

}  // namespace

void add_probe(CLI::App& app, Session& session) {
  auto* probe = app.add_subcommand("probe", "Hold the device's matrix units against their models");
  auto words = std::make_shared<Words>();
  probe->add_option("--seed", words->seed, "Determines the tiles (1)")->type_name("N");
  probe
      ->add_option("--tiles", words->tiles,
                   "Tiles of each unit, of 128 elements (20480: at least 1.3 million elements)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  probe->add_option("--device-pack", words->device_pack, "In place of the build's packs/units_cuda.so")
      ->type_name("FILE");
  probe->add_option("--model-pack", words->model_pack, "In place of the build's packs/units.so")->type_name("FILE");
  probe->footer(
      "Exit code: 0 without deviations, 1 with some, 3 where the harness failed, 4 without a device or without any "
      "unit.");
  probe->callback([words, &session] { session.action = [words, &session] { return probe_device(*words, session); }; });
}

}  // namespace nbx::reports
