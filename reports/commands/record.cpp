// nbx-contract record: writes down the fingerprints of what kernels give, for gate3.twin where their device is not, or
// with --codegen what the compiler makes of them, for gate 5.
#include <fmt/format.h>

#include <memory>

#include "contracts/recorder.hpp"
#include "contracts/stored_outputs.hpp"
#include "reports/codegen_places.hpp"
#include "reports/commands/commands.hpp"
#include "reports/exit_code.hpp"
#include "reports/interrupt.hpp"
#include "reports/selection.hpp"

namespace nbx::reports {
namespace {

struct Words {
  Selection selection;
  std::string output;
  bool codegen = false, outputs = false;
  std::string nvcc;
  std::vector<std::string> architectures;
};

int record_codegen(const Words& words, const Session& session) {
  namespace codegen = contracts::codegen;
  const contracts::RunOptions options = run_options(words.selection, session);
  stop_on_signals(session.bisect ? exit_untestable : exit_interrupted);
  const codegen::Places places = codegen_places(session, words.nvcc);
  try {
    const codegen::Build built = codegen::build_kernels(options, places, words.architectures, stop_requested());
    for (const std::string& error : built.errors) fmt::print(stderr, "nbx-contract: {}\n", error);
    for (const std::string& one : built.unknown) {
      fmt::print(stderr, "nbx-contract: {} does not know {}\n", built.record.compiler.device, one);
    }
    if (stop_requested()) return exit_interrupted;
    if (built.record.kernels.empty()) {
      fmt::print(stderr, "nbx-contract: nothing was recorded\n");
      return exit_nothing;
    }
    const std::string file =
        words.output.empty() ? (places.records / codegen::file_name(built.record.compiler)).string() : words.output;
    // A part of the whole stands beside what the file has of the rest.
    const bool part = !words.architectures.empty() || !words.selection.patterns.empty();
    const bool beside = part && std::filesystem::exists(file);
    codegen::write_record(file, beside ? codegen::merged(codegen::read_record(file), built.record) : built.record);
    fmt::print("recorded the code of {} kernels by {} in {}: {} units compiled, {} as cached\n",
               built.record.kernels.size(), built.record.compiler.name(), file, built.compiled, built.cached);
    return built.errors.empty() ? exit_ok : exit_red;
  } catch (const std::exception& error) {
    fmt::print(stderr, "nbx-contract: {}\n", error.what());
    return exit_harness;
  }
}

int record_device(const Words& words, const Session& session) {
  const contracts::RunOptions options = run_options(words.selection, session);
  stop_on_signals(session.bisect ? exit_untestable : exit_interrupted);
  std::unique_ptr<contracts::OutputWriter> outputs;
  contracts::KeepOutput keep;
  if (words.outputs) {
    outputs = std::make_unique<contracts::OutputWriter>(contracts::outputs_beside(words.output));
    keep = [&](const std::string& kernel, const std::string& problem, const contracts::CallTensor& output,
               const contracts::Bytes& bytes) { outputs->add(kernel, problem, output, bytes); };
  }
  const contracts::Recording made = contracts::record(options, stop_requested(), keep);
  for (const std::string& note : made.notes) fmt::print(stderr, "nbx-contract: {}\n", note);
  for (const std::string& problem : made.problems) fmt::print(stderr, "nbx-contract: {}\n", problem);
  if (stop_requested()) return exit_interrupted;
  if (made.cases == 0) {
    fmt::print(stderr, "nbx-contract: nothing was recorded: no kernel and problem is selected, or none ran\n");
    return exit_nothing;
  }
  try {
    contracts::write_record(words.output, made.record);
    if (outputs) outputs->finish();
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
  record->add_option("--output", words->output, "The file to write")->type_name("FILE");
  record->add_flag("--outputs", words->outputs, "Keep the outputs too, beside it in FILE.safetensors, for diff");
  record->add_flag("--codegen", words->codegen, "What the compiler makes of the CUDA kernels, for gate 5");
  record->add_option("--nvcc", words->nvcc, "With --codegen: another compiler than the build's own")->type_name("FILE");
  record
      ->add_option("--arch", words->architectures,
                   "With --codegen: one architecture of all that the compiler knows; may be repeated")
      ->type_name("SM")
      ->allow_extra_args(false);
  add_selection(*record, words->selection);
  record->footer(
      "Fingerprints in reports/records/ stand for the device where it is not present (gate3.twin).\n"
      "With --codegen the file is reports/records/codegen/COMPILER.json unless --output names another. With --arch or "
      "a\n"
      "pattern the rest of what it holds stays.\n"
      "Examples:\n"
      "  nbx-contract record --device cuda --output reports/records/nvidia-h200.json\n"
      "  nbx-contract record --codegen");
  record->callback([words, &session] {
    if (!words->codegen && words->output.empty()) throw UsageError("--output is required, but with --codegen");
    if (!words->codegen && (!words->nvcc.empty() || !words->architectures.empty())) {
      throw UsageError("--nvcc and --arch are for --codegen");
    }
    if (words->codegen && words->outputs) throw UsageError("--outputs is for what kernels give, not with --codegen");
    session.action = [words, &session] {
      return words->codegen ? record_codegen(*words, session) : record_device(*words, session);
    };
  });
}

}  // namespace nbx::reports
