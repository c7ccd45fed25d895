// nbx-contract run: select, run, judge, report.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "contracts/runner.hpp"
#include "reports/codegen_places.hpp"
#include "reports/commands/commands.hpp"
#include "reports/exit_code.hpp"
#include "reports/interrupt.hpp"
#include "reports/last_run.hpp"
#include "reports/outputs.hpp"
#include "reports/selection.hpp"
#include "reports/tally.hpp"
#include "reports/terminal.hpp"

namespace nbx::reports {
namespace {

struct Words {
  Selection selection;
  Outputs outputs;
  std::string shard, nvcc;
  bool last_failed = false, fail_fast = false;
  bool seed_given = false;
};

// "2/3" into its two numbers. Returns what is wrong with it, else empty.
std::string parse_shard(const std::string& text, int* shard, int* shards) {
  char rest = 0;
  int i = 0, n = 0;
  if (std::sscanf(text.c_str(), "%5d/%5d%c", &i, &n, &rest) != 2 || i < 1 || n < i) {
    return "not I/N with 1 <= I <= N: " + text;
  }
  *shard = i;
  *shards = n;
  return "";
}

std::int64_t now_milliseconds() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

// Makes the run repeat what was red the last time, with the inputs and packs of then. False: nothing was.
bool select_last_failed(const std::filesystem::path& file, const Words& words, contracts::RunOptions& options) {
  const LastRun last = recall(file);
  if (last.red.empty()) return false;
  options.only_cases = last.red;
  if (!words.seed_given) options.seed = last.seed;
  if (options.named_packs.empty()) options.named_packs.assign(last.packs.begin(), last.packs.end());
  for (const contracts::Tier tier : {contracts::Tier::quick, contracts::Tier::standard, contracts::Tier::full}) {
    if (tier_name(tier) == last.tier) options.tier = tier;
  }
  return true;
}

int nothing_failed(const std::string& why) {
  fmt::print(stderr, "nbx-contract: {}: nothing to run\n", why);
  return exit_nothing;
}

// Gate 5 compiles and runs nothing, so it has a run of its own.
int run_gate5(const Words& words, const Session& session) {
  Report report;
  report.start = now_milliseconds();
  stop_on_signals(session.bisect ? exit_untestable : exit_interrupted);
  const contracts::RunOptions options = run_options(words.selection, session);
  report.result = contracts::codegen::run_gate5(options, codegen_places(session, words.nvcc), stop_requested());
  report.stop = now_milliseconds();
  const std::vector<std::string> unmatched = report.result.unmatched;
  const int code = deliver(std::move(report), words.outputs);
  if (code == exit_nothing) suggest(options, unmatched);
  return code;
}

int run_and_report(const Words& words, const Session& session) {
  if (words.selection.gate == 5) return run_gate5(words, session);
  const std::filesystem::path memory = session.folder / "last-run.json";
  contracts::RunOptions options = run_options(words.selection, session);
  options.fail_fast = words.fail_fast;
  if (!words.shard.empty()) parse_shard(words.shard, &options.shard, &options.shards);
  if (words.last_failed) {
    try {
      if (!select_last_failed(memory, words, options)) return nothing_failed("no case was red in the last run");
    } catch (const std::runtime_error& error) {
      return nothing_failed(error.what());
    }
  }

  Report report;
  report.shard = options.shard;
  report.shards = options.shards;
  report.start = now_milliseconds();
  stop_on_signals(session.bisect ? exit_untestable : exit_interrupted);
  {
    ProgressLine progress;
    report.result = contracts::run(
        options, [&](const contracts::Progress& at) { progress.show(at); }, stop_requested());
  }
  report.stop = now_milliseconds();
  const std::vector<std::string> notes = missing_packs(options);
  report.result.notes.insert(report.result.notes.end(), notes.begin(), notes.end());

  if (worth_remembering(report.result)) {
    const std::string error = remember(memory, last_run(report.result, options.named_packs));
    if (!error.empty()) report.result.notes.push_back("--last-failed will not know of this run: " + error);
  }
  std::vector<std::string> unmatched = report.result.unmatched;
  if (unmatched.empty() && !tally(report.result).checked && !report.result.interrupted) unmatched = options.patterns;
  const int code = deliver(std::move(report), words.outputs);
  if (code == exit_nothing) suggest(options, unmatched);
  return code;
}

}  // namespace

void add_run(CLI::App& app, Session& session) {
  auto* run = app.add_subcommand("run", "Hold kernels to their contracts, and controls to their planted faults");
  auto words = std::make_shared<Words>();
  add_selection(*run, words->selection);
  add_outputs(*run, words->outputs);
  run->add_option("--shard", words->shard, "The I-th of N parts; merge makes one report of all")
      ->type_name("I/N")
      ->check([](const std::string& text) {
        int shard = 0, shards = 0;
        return parse_shard(text, &shard, &shards);
      });
  run->add_option("--nvcc", words->nvcc, "With --gate 5: another compiler than the build's own")->type_name("FILE");
  run->add_flag("--fail-fast", words->fail_fast, "Stop at the first red case");
  run->add_flag("--last-failed", words->last_failed, "The red cases of the last run, with its seed, tier and packs");
  run->footer(
      "Examples:\n"
      "  nbx-contract run --summary --json report.json --junit report.xml\n"
      "  nbx-contract run 'math.*/gate3.rows*' --seed 7\n"
      "  nbx-contract run --shard 2/3 --json shard2.json\n"
      "  git bisect run ./nbx-contract run --bisect-exit flash.simt.f32");
  run->callback([words, run, &session] {
    words->seed_given = run->count("--seed") > 0;
    for (const char* other : {"PATTERN", "--gate", "--device", "--quick", "--full", "--shard"}) {
      if (words->last_failed && run->count(other) > 0) {
        throw UsageError(std::string("--last-failed says what to run, so it takes no ") + other);
      }
    }
    for (const char* other : {"--shard", "--last-failed", "--fail-fast"}) {
      if (words->selection.gate == 5 && run->count(other) > 0) {
        throw UsageError(std::string("--gate 5 runs no kernel, so it takes no ") + other);
      }
    }
    if (!words->nvcc.empty() && words->selection.gate != 5) throw UsageError("--nvcc is for --gate 5");
    check_outputs(words->outputs);
    session.action = [words, &session] { return run_and_report(*words, session); };
  });
}

}  // namespace nbx::reports
