// nbx-contract merge: the JSON reports of all shards into one.
#include "reports/merge.hpp"

#include <memory>

#include "reports/commands/commands.hpp"
#include "reports/json.hpp"
#include "reports/outputs.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

struct Words {
  std::vector<std::string> files;
  Outputs outputs;
};

Shard read_shard(const std::string& file) {
  Shard shard;
  shard.file = file;
  try {
    shard.report = from_json(read_file(file));
  } catch (const std::runtime_error& error) {
    shard.error = error.what();
  }
  return shard;
}

int merge_and_report(const Words& words) {
  std::vector<Shard> shards;
  for (const std::string& file : words.files) shards.push_back(read_shard(file));
  return deliver(merged(shards), words.outputs);
}

}  // namespace

void add_merge(CLI::App& app, Session& session) {
  auto* merge = app.add_subcommand("merge", "One report from the JSON reports of all shards of a run");
  auto words = std::make_shared<Words>();
  merge->add_option("REPORT", words->files, "Written by run --json; every shard once")->required()->type_name("");
  add_outputs(*merge, words->outputs);
  merge->footer("Example:\n  nbx-contract merge shard1.json shard2.json shard3.json --summary --junit report.xml");
  merge->callback([words, &session] {
    check_outputs(words->outputs);
    session.action = [words] { return merge_and_report(*words); };
  });
}

}  // namespace nbx::reports
