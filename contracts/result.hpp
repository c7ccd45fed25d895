// What a run found out, for the reports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nbx::contracts {

enum class State : std::uint8_t { pass, red, known, declined, pending, stale };

/// Everything that a person needs of one red case.
struct Red {
  std::string clause_sentence;                             // "every element lies within its proven bound"
  std::vector<std::pair<std::string, std::string>> lines;  // label and text, in the order to print: wrong, where,
                                                           // expected, actual, off by, ...
  std::string again;                                       // the complete command that repeats it
};

/// kernel × clause × problem.
struct CaseResult {
  std::string kernel, clause, problem;  // "math.simt.bf16", "gate1.reference", "B=1,H=4,...,sink"
  State state = State::pass;
  std::string reason;      // of declined, pending, stale, known
  std::optional<Red> red;  // of red and known
  double worst_share = 0;  // gate 1: largest |error| / bound over the case's elements
  std::int64_t elements = 0, overflow_open = 0;
  std::vector<std::int64_t> escalations;  // by level, see oracle/verdict.hpp
  double seconds = 0;

  std::string name() const { return kernel + "/" + clause + "(" + problem + ")"; }
};

/// One honest kernel in total.
struct KernelResult {
  std::string kernel, pack;
  State state = State::pass;  // red before known before pass; declined if no case ran
  std::int64_t cases = 0, red = 0, known = 0, declined = 0, skipped = 0;
  std::int64_t findings = 0;  // registered findings that showed
  double worst_share = 0;
  std::string worst_case;  // the name of the case with the worst share
  std::int64_t elements = 0, overflow_open = 0;
  std::vector<std::int64_t> escalations;  // summed over its cases, as in CaseResult
  double seconds = 0;
};

struct ControlResult {
  std::string control, mutates, planted;
  enum class Verdict : std::uint8_t { red_as_planted, missed, equivalent, within_bound, not_judged } verdict{};
  std::string why;                  // of a miss: which clause stayed green, or which other one turned red
  std::vector<std::string> red_at;  // clauses that did turn red
  double share = 0;                 // of a within_bound control: its largest error as a share of the bound
};

struct FindingResult {
  std::string id, kernel, clause, reason;
  bool showed = false;
  bool judged = false;  // its problem ran
  bool stale() const { return judged && !showed; }
};

struct PowerResult {
  std::string arithmetic;  // the kernels that share it, "math.simt.bf16 (+2)"
  std::string mutant, size_class;
  bool killed = false;
  std::string problem;  // that kills it most clearly
  double multiple = 0;  // of the bound
};

struct PackResult {
  std::string name, file, device, imitates, toolchain, flags;
  std::string error;  // a named pack that did not load: red
};

struct RunResult {
  std::uint64_t seed = 1;
  std::string tier;                  // "quick", "default", "full"
  std::vector<std::string> command;  // as typed
  std::vector<PackResult> packs;
  std::vector<CaseResult> cases;  // every case that is not a plain pass, and per kernel those with worst shares
  std::vector<KernelResult> kernels;
  std::vector<ControlResult> controls;
  std::vector<FindingResult> findings;
  std::vector<PowerResult> power;
  std::vector<std::string> unmatched;  // patterns that selected nothing, in a selection that others may have filled
  std::vector<std::string> notes;      // "CUDA: no nvcc found, the CUDA pack was not built"
  std::vector<std::string> harness_errors;
  std::int64_t cases_run = 0;
  std::int64_t codegen_cases = 0;  // of gate 5, passes included
  std::string codegen;             // what gate 5 asked: kernels, architectures, compiler; empty: it was not asked
  double seconds = 0;
  bool interrupted = false;
};

/// The first that applies: 130 interrupted; 1 for any red clause, missed control, stale finding, live power mutant or
/// pack that failed; 3 for a harness error; 4 where nothing was checked or a pattern selected nothing; 0. Strict:
/// pending, stale and declined are red too.
int exit_code(const RunResult& result, bool strict);

}  // namespace nbx::contracts
