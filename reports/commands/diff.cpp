// nbx-contract diff: two records or two toolchains, and what is other between them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "contracts/inventory.hpp"
#include "reports/commands/commands.hpp"
#include "reports/diff/tell.hpp"
#include "reports/diff/toolchains.hpp"
#include "reports/exit_code.hpp"
#include "reports/interrupt.hpp"
#include "reports/selection.hpp"
#include "reports/terminal.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Words {
  Selection selection;
  std::string first, second, units, folder, json;
  std::vector<std::string> architectures;
  bool stage = false;
};

enum class Kind : std::uint8_t { bits, codegen, toolchain };

/// By content: a record of bits names its device, one of code its compiler, and all else is a toolchain.
Kind kind_of(const std::string& word) {
  if (fs::path(word).extension() != ".json") return Kind::toolchain;
  if (!fs::exists(word)) throw std::runtime_error(fmt::format("{}: there is no such file", word));
  const json read = json::parse(read_file(word), nullptr, false);
  if (!read.is_object())
    throw std::runtime_error(fmt::format("{}: not a record and no toolchain: no JSON object", word));
  if (read.contains("device")) return Kind::bits;
  if (read.contains("compiler")) return Kind::codegen;
  return Kind::toolchain;
}

const char* kind_text(Kind kind) {
  return kind == Kind::bits ? "a record of bits" : kind == Kind::codegen ? "a codegen record" : "a toolchain";
}

/// The elements of each changed case, out of the outputs that stand beside the records.
void add_elements(diff::BitsDiff& bits, const Words& words, const contracts::Record& first,
                  const contracts::Record& second, const contracts::RunOptions& options) {
  const fs::path ours = contracts::outputs_beside(words.first), theirs = contracts::outputs_beside(words.second);
  for (const fs::path& file : {ours, theirs}) {
    if (fs::exists(file)) continue;
    for (diff::KernelBits& kernel : bits.differing) {
      kernel.no_elements = fmt::format("{} is not there (record --outputs writes it)", file.string());
    }
    return;
  }
  if (bits.differing.empty()) return;
  const contracts::StoredOutputs a(ours), b(theirs);
  const auto inventory = contracts::open_packs(options);
  for (diff::KernelBits& kernel : bits.differing) {
    const contracts::Inventory::Entry* const entry = inventory->find(kernel.kernel);
    const fs::path pack = entry == nullptr ? fs::path() : inventory->packs[entry->pack].file;
    diff::judge_changes(kernel, [&](const std::string& problem) {
      const auto of = [&](const contracts::StoredOutputs& stored, const contracts::Record& record) {
        return diff::kept_outputs(stored, kernel.kernel, problem, record.kernels.at(kernel.kernel).at(problem));
      };
      const auto kept_a = of(a, first), kept_b = of(b, second);
      if (!kept_a.empty() && !kept_b.empty()) {
        return contracts::compare_kept(kept_a, kept_b, pack, kernel.kernel, problem, first.seed, options.timeout);
      }
      contracts::PackDifference missing;
      missing.why_not = fmt::format("{} does not hold the case", (kept_a.empty() ? ours : theirs).string());
      return missing;
    });
  }
}

std::string said(const std::string& word, const contracts::Record& record) {
  return fmt::format("{}: {}, {}, {}, seed {}", word, record.device, record.toolchain, record.flags, record.seed);
}

diff::Result diff_bit_records(const Words& words, const contracts::RunOptions& options) {
  const contracts::Record first = contracts::read_record(words.first), second = contracts::read_record(words.second);
  diff::Result out;
  out.first = said(words.first, first);
  out.second = said(words.second, second);
  out.bits = diff::compare_bits(first, second, options.patterns);
  add_elements(*out.bits, words, first, second, options);
  return out;
}

diff::Result diff_codegen_records(const Words& words, const contracts::RunOptions& options) {
  namespace codegen = contracts::codegen;
  const codegen::Record first = codegen::read_record(words.first), second = codegen::read_record(words.second);
  diff::Result out;
  out.first = fmt::format("{}: {}, {}", words.first, first.compiler.name(), first.flags);
  out.second = fmt::format("{}: {}, {}", words.second, second.compiler.name(), second.flags);
  out.code = diff::compare_code(first, second, options.patterns, words.architectures);
  return out;
}

std::string said(const Toolchain& toolchain) {
  json text = json::parse(to_json(toolchain));
  text.erase("name");
  return fmt::format("{}: {}", toolchain.name, text.empty() ? "each command as it stands" : text.dump());
}

diff::Result diff_toolchains(const Words& words, const Session& session, const contracts::RunOptions& options) {
  ProgressLine progress;
  bisect::Settings settings;
  settings.run = options;
  settings.good = find_toolchain(words.first, session.folder / "toolchains");
  settings.bad = find_toolchain(words.second, session.folder / "toolchains");
  settings.folder = words.folder.empty() ? session.folder / "bisect" : fs::path(words.folder);
  settings.say = [&](const std::string& what) { progress.show(what); };
  diff::Result out;
  out.first = said(settings.good);
  out.second = said(settings.bad);
  // Flags of some units may be of host units, of CUDA units or of both.
  const bool device = diff::device_side_differs(settings.good, settings.bad) ||
                      (options.device == "cuda" && settings.good.unit_flags != settings.bad.unit_flags);
  const auto take = [&](const bisect::Described& pack) {
    settings.pack = bisect::read_units(pack.units);
    settings.good_anyway = bisect::left_out(settings.pack, pack.kernels, options.patterns);
    return pack.kernels;
  };
  if (device) {
    out.code = diff::diff_code(settings, take(bisect::described_device_code(words.units, options, session.folder)),
                               words.architectures, words.stage);
  }
  // The bits of a pack for a device that is not here cannot be asked.
  if (options.device == "cuda" || diff::host_side_differs(settings.good, settings.bad) || !device) {
    take(bisect::described(words.units, options));
    out.bits = diff::diff_bits(settings, out.failed);
  }
  return out;
}

int run_diff(const Words& words, const Session& session) {
  const contracts::RunOptions options = run_options(words.selection, session);
  const Kind first = kind_of(words.first), second = kind_of(words.second);
  if (first != second) {
    throw UsageError(fmt::format("{} is {} and {} is {}; accepted: two of a kind", words.first, kind_text(first),
                                 words.second, kind_text(second)));
  }
  if (words.stage && first != Kind::toolchain) throw UsageError("--stage asks compilers: it takes two toolchains");
  stop_on_signals(exit_interrupted);
  diff::Result result;
  try {
    result = first == Kind::bits      ? diff_bit_records(words, options)
             : first == Kind::codegen ? diff_codegen_records(words, options)
                                      : diff_toolchains(words, session, options);
  } catch (const bisect::Stopped&) {
    return exit_interrupted;
  }
  fmt::print("{}", diff::text(result, std::max<std::size_t>(terminal_width(STDOUT_FILENO), 80)));
  if (!wrote_report(words.json, diff::json_text(result))) return exit_harness;
  if (result.differs()) return exit_red;
  if (!result.failed.empty()) return exit_harness;
  return result.nothing() ? exit_nothing : exit_ok;
}

}  // namespace

void add_diff(CLI::App& app, Session& session) {
  auto* diff = app.add_subcommand("diff", "Compare two records, or what two toolchains make of the kernels");
  auto words = std::make_shared<Words>();
  diff->add_option("FIRST", words->first, "A record (record writes it) or a toolchain")->required();
  diff->add_option("SECOND", words->second, "Another one of the same kind")->required();
  diff->add_option("--json", words->json, "Write what was found as JSON")->type_name("FILE");
  diff->add_option("--arch", words->architectures, "Device code for one architecture alone; may be repeated")
      ->type_name("SM")
      ->allow_extra_args(false);
  diff->add_flag("--stage", words->stage, "Of each kernel with other machine code: is it nvcc's front end or ptxas?");
  diff->add_option("--units", words->units, "Toolchains: how the pack is built, if it does not say")->type_name("FILE");
  diff->add_option("--cache", words->folder, "Toolchains: keeps what was built (bisect/ beside the command)")
      ->type_name("FOLDER");
  add_selection(*diff, words->selection);
  diff->footer(
      "Two records of bits: which cases changed and in which blocks of 1,024 elements; with stored outputs beside "
      "both\n"
      "(record --outputs) the first differing element, ulps and bound. Two codegen records: registers, memory, code.\n"
      "Two toolchains build the pack themselves: device code where nvcc or ptxas differ, bits where the host side "
      "does.\n"
      "Exit codes: 0 the same, 1 something differs, 2 usage, 3 it could not be told, 4 nothing was compared.\n"
      "Examples:\n"
      "  nbx-contract diff reports/records/nvidia-h200.json build/h200-today.json\n"
      "  nbx-contract diff gcc-12 clang-19 --quick 'softmax.*'\n"
      "  nbx-contract diff nvcc-13.0.json nvcc-13.5.json --stage --arch sm_90 'decode.published.bf16'");
  diff->callback([words, &session] { session.action = [words, &session] { return run_diff(*words, session); }; });
}

}  // namespace nbx::reports
