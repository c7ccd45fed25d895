#include "reports/bisect/flags.hpp"

#include <algorithm>
#include <map>

#include "reports/text.hpp"

namespace nbx::reports::bisect {
namespace {

/// A flag that differs between the toolchains.
struct Step {
  Flag flag;
  bool added = true;  // else: the good toolchain has it and the bad one not
};

std::string said(const Step& step) { return (step.added ? "" : "without ") + joined(step.flag, " "); }

std::vector<Step> steps_between(const std::vector<Flag>& good, const std::vector<Flag>& bad) {
  std::vector<Step> steps;
  const auto in = [](const std::vector<Flag>& list, const Flag& flag) {
    return std::find(list.begin(), list.end(), flag) != list.end();
  };
  for (const Flag& flag : good) {
    if (!in(bad, flag)) steps.push_back({flag, false});
  }
  for (const Flag& flag : bad) {
    if (!in(good, flag)) steps.push_back({flag, true});
  }
  return steps;
}

/// The good flags with the chosen steps taken, and then `more`.
std::vector<std::string> with_steps(const std::vector<Flag>& good, const std::vector<Step>& steps, const Set& chosen,
                                    const std::vector<std::string>& more) {
  std::vector<std::string> words;
  const auto put = [&](const Flag& flag) { words.insert(words.end(), flag.begin(), flag.end()); };
  const auto taken = [&](std::size_t i) { return std::binary_search(chosen.begin(), chosen.end(), i); };
  for (const Flag& flag : good) {
    bool removed = false;
    for (std::size_t i = 0; i < steps.size(); ++i) removed |= !steps[i].added && steps[i].flag == flag && taken(i);
    if (!removed) put(flag);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].added && taken(i)) put(steps[i].flag);
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<std::string> chosen_words(const std::vector<std::string>& parts, const Set& chosen) {
  std::vector<std::string> out;
  for (const std::size_t i : chosen) out.push_back(parts[i]);
  return out;
}

}  // namespace

std::vector<std::string> milder_flags(CompilerKind compiler) {
  if (compiler == CompilerKind::nvcc) return {"-Xptxas=-O0", "-Xptxas=-O1", "-Xptxas=-O2", "--fmad=false"};
  return {"-O0", "-O1", "-O2", "-ffp-contract=off", "-fno-tree-vectorize", "-fno-inline"};
}

std::vector<Flag> grouped_flags(const std::vector<std::string>& words) {
  std::vector<Flag> flags;
  for (const std::string& word : words) {
    if (word.starts_with('-') || flags.empty()) {
      flags.push_back({word});
    } else {
      flags.back().push_back(word);
    }
  }
  return flags;
}

std::vector<std::string> parts_of(const std::string& flag, CompilerKind compiler) {
  // What each compiler's manual lists under the umbrella, down to flags that stand for themselves.
  static const std::vector<std::string> unsafe{"-fno-signed-zeros", "-fno-trapping-math", "-fassociative-math",
                                               "-freciprocal-math"};
  std::vector<std::string> fast = unsafe;
  fast.insert(fast.end(), {"-fno-math-errno", "-ffinite-math-only"});
  if (compiler == CompilerKind::clang) {
    fast.insert(fast.end(), {"-fapprox-func", "-ffp-contract=fast"});
  } else {
    fast.insert(fast.end(),
                {"-fno-rounding-math", "-fno-signaling-nans", "-fcx-limited-range", "-fexcess-precision=fast"});
  }
  if (flag == "-ffast-math") return fast;
  if (flag == "-funsafe-math-optimizations") return unsafe;
  if (flag == "-Ofast") {
    fast.insert(fast.begin(), "-O3");
    return fast;
  }
  if (flag == "--use_fast_math" || flag == "-use_fast_math") {
    return {"-ftz=true", "-prec-div=false", "-prec-sqrt=false", "--fmad=true"};
  }
  return {};
}

FlagBlame blame_flags(const std::vector<std::string>& good_flags, const std::vector<std::string>& bad_flags,
                      bool other_compiler, CompilerKind compiler, const std::vector<std::string>& milder,
                      const std::function<Answer(const Variant&)>& try_variant) {
  FlagBlame out;
  std::map<std::pair<bool, std::vector<std::string>>, Answer> memory;
  const auto answer = [&](bool bad_compiler, const std::vector<std::string>& flags) {
    const auto key = std::make_pair(bad_compiler, flags);
    if (const auto at = memory.find(key); at != memory.end()) return at->second;
    ++out.evaluations;
    return memory.emplace(key, try_variant({bad_compiler, flags})).first->second;
  };
  const std::vector<Flag> good = grouped_flags(good_flags), bad = grouped_flags(bad_flags);
  const std::vector<Step> steps = steps_between(good, bad);
  Set all(steps.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;

  bool bad_compiler = false;
  if (!steps.empty() && answer(false, with_steps(good, steps, all, {})) == Answer::changed) {
    out.culprit = FlagBlame::Culprit::flags;
  } else if (other_compiler && answer(true, good_flags) == Answer::changed) {
    out.culprit = FlagBlame::Culprit::compiler;
    for (const std::string& flag : milder) {
      std::vector<std::string> flags = good_flags;
      flags.push_back(flag);
      if (answer(true, flags) == Answer::same) out.undone_by.push_back(flag);
    }
    return out;
  } else if (other_compiler && !steps.empty() && answer(true, with_steps(good, steps, all, {})) == Answer::changed) {
    out.culprit = FlagBlame::Culprit::both;
    bad_compiler = true;
  } else {
    return out;
  }

  const Found found = find_minimal_sets(
      steps.size(), [&](const Set& chosen) { return answer(bad_compiler, with_steps(good, steps, chosen, {})); });
  for (const Set& set : found.minimal) {
    std::vector<std::string> names;
    for (const std::size_t i : set) names.push_back(said(steps[i]));
    out.minimal.push_back(names);
    for (const std::size_t umbrella : set) {
      const std::vector<std::string> parts = parts_of(steps[umbrella].flag.front(), compiler);
      if (!steps[umbrella].added || parts.empty()) continue;
      Set others = set;
      std::erase(others, umbrella);
      const Found of_parts = find_minimal_sets(parts.size(), [&](const Set& chosen) {
        return answer(bad_compiler, with_steps(good, steps, others, chosen_words(parts, chosen)));
      });
      std::vector<std::vector<std::string>> minimal;
      for (const Set& one : of_parts.minimal) minimal.push_back(chosen_words(parts, one));
      out.parts.emplace_back(names[static_cast<std::size_t>(std::find(set.begin(), set.end(), umbrella) - set.begin())],
                             minimal);
    }
  }
  return out;
}

}  // namespace nbx::reports::bisect
