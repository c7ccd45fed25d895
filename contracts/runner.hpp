// The way of one run: select, make inputs, ask the oracle, let children run the kernels, judge.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "contracts/result.hpp"

namespace nbx::contracts {

enum class Tier : std::uint8_t { quick, standard, full };

struct RunOptions {
  std::vector<std::filesystem::path> packs;        // in order; the ones that come with the build first
  std::vector<std::filesystem::path> named_packs;  // by --pack: red if they do not load
  std::vector<std::string> patterns;               // case, kernel or clause names, with * and ?; empty: all
  std::vector<std::string> only_cases;             // exact case names (--last-failed); empty: all
  int gate = 0;                                    // 1-4, 0: all of them; 5 is codegen/'s
  std::string device;                              // "cpu", "cuda", empty: all
  Tier tier = Tier::standard;
  std::uint64_t seed = 1;
  int jobs = 0;               // 0: the number of cores
  int shard = 1, shards = 1;  // I/N
  bool fail_fast = false;
  std::chrono::milliseconds timeout{20'000};  // per call
  std::vector<std::string> command;           // as typed, for reproducers
  std::filesystem::path records;              // the folder of fingerprints; empty: none
};

struct Progress {
  std::int64_t done = 0, total = 0;
  std::int64_t red = 0;
  std::string current;
};

/// Runs everything selected. `progress` is called from the calling thread; `stop` is polled and may be set by a signal
/// handler: the run then ends its children and returns what is finished with interrupted set.
RunResult run(const RunOptions& options, const std::function<void(const Progress&)>& progress,
              const std::atomic<bool>& stop);

/// What there is to select from, after the same selection.
struct Listing {
  struct Kernel {
    std::string name, pack, family, device;
    std::vector<std::string> promises, not_promised;  // "gate3.rows"; "gate3.pad: reason"
  };
  struct Clause {
    std::string id, sentence, source, tier;
    std::vector<std::string> families;
  };
  struct Control {
    std::string name, mutates, planted, verdict;
    std::vector<std::string> red_at;
  };
  struct Problem {
    std::string family, name, tier;
  };
  std::vector<Kernel> kernels;
  std::vector<Clause> clauses;
  std::vector<Control> controls;
  std::vector<Problem> problems;
  std::vector<PackResult> packs;
};
Listing list(const RunOptions& options);

/// Power alone: which problem kills which mutant, per arithmetic and size class.
std::vector<PowerResult> power(const RunOptions& options);

/// `pattern` matched nothing in this selection: the names nearest to it, best first.
std::vector<std::string> nearest(const RunOptions& options, const std::string& pattern);

/// One case in full: its worst element, the row's scores, the parts of the bound, the spatial pattern.
/// `name` is a case's printed name. Runs it again. found is false where nothing has that name.
struct Explanation {
  bool found = false;
  std::vector<std::string> nearest;
  CaseResult result;
  std::vector<std::pair<std::string, std::string>> lines;
};
Explanation explain(const RunOptions& options, const std::string& name);

}  // namespace nbx::contracts
