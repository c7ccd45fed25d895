// nbx-contract explain: one case, run again and told in full.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "contracts/runner.hpp"
#include "reports/commands/commands.hpp"
#include "reports/exit_code.hpp"
#include "reports/red_text.hpp"
#include "reports/selection.hpp"
#include "reports/terminal.hpp"
#include "reports/text.hpp"

namespace nbx::reports {
namespace {

using contracts::CaseResult;
using contracts::State;

struct Words {
  std::string name;
  Selection selection;
};

// What became of the case, for one that carries no red block.
std::string outcome(const CaseResult& one) {
  switch (one.state) {
    case State::pass:
      return fmt::format("passes: {} elements, worst {} of bound", grouped(one.elements), share_text(one.worst_share));
    case State::red:
      return "red: " + one.reason;
    case State::known:
      return "known finding: " + one.reason;
    case State::declined:
      return "declined: " + one.reason;
    case State::pending:
      return "pending: " + one.reason;
    case State::stale:
      return "stale: " + one.reason;
  }
  return "";
}

int code_of(State state) {
  switch (state) {
    case State::pass:
    case State::known:
      return exit_ok;
    case State::red:
      return exit_red;
    case State::declined:
    case State::pending:
    case State::stale:
      break;
  }
  return exit_nothing;
}

int explain_case(const Words& words, const Session& session) {
  const contracts::Explanation told = contracts::explain(run_options(words.selection, session), words.name);
  if (!told.found) {
    fmt::print(stderr, "nbx-contract: no case is named {}{}\n", words.name,
               told.nearest.empty() ? "" : "; nearest: " + joined(told.nearest, ", "));
    return exit_nothing;
  }
  const Paint paint{shows_colour(STDOUT_FILENO)};
  std::string out = told.result.red ? red_text(told.result, paint) : paint.strong(told.result.name()) + "\n";
  if (!told.result.red) out += labelled({{"outcome", outcome(told.result)}});
  fmt::print("{}{}", out, labelled(told.lines));
  return code_of(told.result.state);
}

}  // namespace

void add_explain(CLI::App& app, Session& session) {
  auto* explain = app.add_subcommand("explain", "Run one case again and show its worst element in full");
  auto words = std::make_shared<Words>();
  explain->add_option("CASE", words->name, "A case's name as it is printed")->required()->type_name("");
  add_scope(*explain, words->selection);
  explain->footer(
      "Exit code: 0 where the case holds or is a known finding, 1 where it is red, 4 where nothing was checked.");
  explain->callback(
      [words, &session] { session.action = [words, &session] { return explain_case(*words, session); }; });
}

}  // namespace nbx::reports
