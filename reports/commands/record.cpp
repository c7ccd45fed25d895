// nbx-contract record: writes down the fingerprints of what kernels give, for gate3.twin where their device is not.
#include <fmt/format.h>

#include <memory>

#include "contracts/recorder.hpp"
#include "reports/commands/commands.hpp"
#include "reports/exit_code.hpp"
#include "reports/interrupt.hpp"
#include "reports/selection.hpp"

namespace nbx::reports {
namespace {

struct Words {
  Selection selection;
  std::string output;
};

int record_device(const Words& words, const Session& session) {
  const contracts::RunOptions options = run_options(words.selection, session);
  stop_on_signals(session.bisect ? exit_untestable : exit_interrupted);
  const contracts::Recording made = contracts::record(options, stop_requested());
  for (const std::string& note : made.notes) fmt::print(stderr, "nbx-contract: {}\n", note);
  for (const std::string& problem : made.problems) fmt::print(stderr, "nbx-contract: {}\n", problem);
  if (stop_requested()) return exit_interrupted;
  if (made.cases == 0) {
    fmt::print(stderr, "nbx-contract: nothing was recorded: no kernel and problem is selected, or none ran\n");
    return exit_nothing;
  }
  try {
    contracts::write_record(words.output, made.record);
  } catch (const std::exception& error) {
    fmt::print(stderr, "nbx-contract: {}\n", error.what());
    return exit_harness;
  }
  fmt::print("recorded {} kernels, {} cases on {} in {}\n", made.record.kernels.size(), made.cases, made.record.device,
             words.output);
  return made.problems.empty() ? exit_ok : exit_red;
}

}  // namespace

void add_record(CLI::App& app, Session& session) {
  auto* record = app.add_subcommand("record", "Write the fingerprints of a device's outputs to a file");
  auto words = std::make_shared<Words>();
  record->add_option("--output", words->output, "The file to write")->required()->type_name("FILE");
  add_selection(*record, words->selection);
  record->footer(
      "Fingerprints in reports/records/ stand for the device where it is not present (gate3.twin).\n"
      "Example: nbx-contract record --device cuda --output reports/records/nvidia-h200.json");
  record->callback(
      [words, &session] { session.action = [words, &session] { return record_device(*words, session); }; });
}

}  // namespace nbx::reports
