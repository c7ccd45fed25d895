#include "reports/last_run.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reports/tally.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;
using contracts::CaseResult;
using contracts::State;

}  // namespace

bool worth_remembering(const contracts::RunResult& result) {
  const Tally tally = reports::tally(result);
  return tally.checked && (!result.interrupted || tally.red_cases > 0);
}

LastRun last_run(const contracts::RunResult& result, const std::vector<fs::path>& named_packs) {
  LastRun run;
  run.seed = result.seed;
  run.tier = result.tier;
  for (const CaseResult& one : result.cases) {
    if (one.state == State::red) run.red.push_back(one.name());
  }
  for (const fs::path& pack : named_packs) run.packs.push_back(fs::absolute(pack).lexically_normal().string());
  return run;
}

std::string remember(const fs::path& file, const LastRun& run) {
  const nlohmann::json json{{"red", run.red}, {"seed", run.seed}, {"tier", run.tier}, {"packs", run.packs}};
  return write_file(file, json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

LastRun recall(const fs::path& file) {
  if (!fs::exists(file)) throw std::runtime_error("there was no run before this one");
  try {
    const nlohmann::json json = nlohmann::json::parse(read_file(file));
    LastRun run;
    json.at("red").get_to(run.red);
    json.at("seed").get_to(run.seed);
    json.at("tier").get_to(run.tier);
    json.at("packs").get_to(run.packs);
    return run;
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(file.string() + ": " + error.what());
  }
}

}  // namespace nbx::reports
