// The command itself, with the packs that come with it and with a user's own. It runs from a folder of its own, as it
// keeps last-run.json beside itself.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "process.hpp"
#include "reports/json.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

constexpr const char* kernel = "softmax.tile.f32";
constexpr const char* one_green =
    "SUMMARY 1 kernels: 1 pass gates 1-4, 0 fail, 0 known findings; 0 controls: 0 red as planted, 0 missed\n";
constexpr const char* nothing =
    "SUMMARY 0 kernels: 0 pass gates 1-4, 0 fail, 0 known findings; 0 controls: 0 red as planted, 0 missed\n";

class Command : public testing::Test {
 protected:
  Command() {
    const fs::path built = fs::path(NBX_COMMAND).parent_path();
    fs::copy_file(NBX_COMMAND, folder_.path() / "nbx-contract");
    for (const char* beside : {"packs", "records"}) fs::create_symlink(built / beside, folder_.path() / beside);
  }

  Words words(const Words& arguments) const {
    Words all{(folder_.path() / "nbx-contract").string()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }
  Ended run(const Words& arguments) const { return call(words(arguments)); }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  // A run that is green whatever becomes of the project's own kernels.
  static Words green_run(const Words& more) {
    Words all{"run", "--quick", "--pack", user_pack("user_softmax"), "user_softmax.plain.f32"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static std::string user_pack(const std::string& name) { return std::string(NBX_TEST_PACKS) + "/" + name + ".so"; }

  TemporaryFolder folder_;
};

TEST_F(Command, RefusesWordsThatItDoesNotKnow) {
  const std::vector<Words> wrong{{},
                                 {"frobnicate"},
                                 {"run", "--frobnicate"},
                                 {"run", "--gate", "0"},
                                 {"run", "--gate", "6"},
                                 {"run", "--seed", "-1"},
                                 {"run", "--seed", "18446744073709551616"},
                                 {"run", "--seed", "1x"},
                                 {"run", "--jobs", "0"},
                                 {"run", "--timeout", "nan"},
                                 {"run", "--timeout", "0"},
                                 {"run", "--shard", "0/2"},
                                 {"run", "--shard", "3/2"},
                                 {"run", "--shard", "1/2x"},
                                 {"run", "--device", "tpu"},
                                 {"run", "--quick", "--full"},
                                 {"run", "--last-failed", "--gate", "1"},
                                 {"run", "--json", "a", "--junit", "./a"},
                                 {"list", "everything"},
                                 {"explain"},
                                 {"merge"}};
  for (Words arguments : wrong) {
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.code, 2) << testing::PrintToString(arguments);
    EXPECT_NE(ended.err, "") << testing::PrintToString(arguments);
    EXPECT_EQ(ended.out, "") << testing::PrintToString(arguments);
    arguments.emplace_back("--bisect-exit");
    EXPECT_EQ(run(arguments).code, 125) << testing::PrintToString(arguments);
  }
}

TEST_F(Command, SaysItsVersionAndHelp) {
  EXPECT_EQ(run({"--version"}).out, "nbx-contract " NBX_VERSION "\n");
  const Ended help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* word : {"list", "run", "explain", "merge", "Examples:", "Exit codes:"}) {
    EXPECT_THAT(help.out, HasSubstr(word));
  }
  EXPECT_THAT(run({"run", "--help"}).out, HasSubstr("--last-failed"));
}

TEST_F(Command, FailsWhereAPackOfTheBuildDoesNotLoad) {
  const fs::path packs = folder_.path() / "broken";
  fs::create_directory(packs);
  fs::create_symlink(fs::path(NBX_COMMAND).parent_path() / "packs" / "cpu.so", packs / "cpu.so");
  const Words words{"run", "--quick", "--packs", packs.string(), kernel};
  EXPECT_EQ(run(words).code, 0);
  ASSERT_TRUE(write_file((packs / "controls.so").string(), "no library").empty());
  const Ended ended = run(words);
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out + ended.err, HasSubstr("controls"));
}

TEST_F(Command, HoldsAKernelToItsContract) {
  const Ended brief = run({"run", "--quick", kernel});
  EXPECT_EQ(brief.code, 0) << brief.out << brief.err;
  EXPECT_THAT(brief.out, EndsWith(one_green));
  EXPECT_THAT(brief.out, Not(HasSubstr("nbx-contract " NBX_VERSION)));
  const Ended full = run({"run", "--quick", "--summary", kernel});
  EXPECT_EQ(full.code, 0);
  EXPECT_THAT(full.out, HasSubstr("nbx-contract " NBX_VERSION "   packs cpu"));
  EXPECT_THAT(full.out, HasSubstr("  ok        softmax.tile.f32   "));
  EXPECT_THAT(full.out, EndsWith(one_green));
  EXPECT_THAT(full.out + full.err, Not(HasSubstr("\x1b")));  // neither colour nor progress without a terminal
}

TEST_F(Command, SuggestsNamesWhereNothingMatches) {
  const Ended ended = run({"run", "--quick", "softmax.tile.f33"});
  EXPECT_EQ(ended.code, 4);
  EXPECT_THAT(ended.out, EndsWith(nothing));
  EXPECT_THAT(ended.err, HasSubstr("no match for softmax.tile.f33; nearest: softmax.tile.f32"));
  EXPECT_EQ(run({"run", "--quick", "--bisect-exit", "softmax.tile.f33"}).code, 125);
  const Ended half = run(green_run({"softmax.tile.f33"}));
  EXPECT_EQ(half.code, 4);  // what others selected does not cover for it
  EXPECT_THAT(half.err, HasSubstr("no match for softmax.tile.f33"));
  EXPECT_THAT(half.err, Not(HasSubstr("no match for user_softmax")));
  EXPECT_EQ(run({"explain", "softmax.tile.f33/gate1.reference(x)"}).code, 4);
  EXPECT_EQ(run({"list", "kernels", "softmax.tile.f33"}).code, 4);
}

TEST_F(Command, EndsARunOfGate5WithALineOfItsOwn) {
  const std::regex none("SUMMARY gate 5: no kernel: 0 cases: 0 hold, 0 red, 0 pending, 0 stale\n$");
  const Ended ended = run({"run", "--gate", "5", "no.such.kernel"});
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_TRUE(std::regex_search(ended.out, none)) << ended.out;
#if defined(NBX_NVCC)
  // Compiled once and kept beside the command of the build; another compiler than the recorded one is pending.
  for (const char* beside : {"compile_commands.json", "codegen"}) {
    fs::create_symlink(fs::path(NBX_COMMAND).parent_path() / beside, folder_.path() / beside);
  }
  const Ended one = run({"run", "--gate", "5", "--summary", "paged.append.f32"});
  const std::regex line(
      "\nSUMMARY gate 5: 1 kernels × 3 architectures by nvcc [0-9.]+, g\\+\\+ [0-9.]+: 6 cases: "
      "[0-9] hold, [0-9] red, [0-9] pending, [0-9] stale\n$");
  EXPECT_TRUE(std::regex_search(one.out, line)) << one.out << one.err;
#endif
}

TEST_F(Command, WritesSeveralReportsAtOnce) {
  const Ended ended = run(green_run({"--json", file("r.json"), "--junit", file("r.xml"), "--markdown", file("r.md")}));
  EXPECT_EQ(ended.code, 0);
  const Report report = from_json(read_file(file("r.json")));
  EXPECT_GT(report.result.cases_run, 0);
  EXPECT_GE(report.stop, report.start);
  EXPECT_THAT(read_file(file("r.xml")), HasSubstr("<testsuite name=\"user_softmax.plain.f32\""));
  EXPECT_THAT(read_file(file("r.md")), HasSubstr("SUMMARY 1 kernels: 1 pass"));
}

TEST_F(Command, FailsWhereAReportCannotBeWrittenAndStillSaysWhatItFound) {
  const Ended ended = run(green_run({"--json", file("none/r.json"), "--junit", file("r.xml")}));
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.out, HasSubstr("harness error cannot write "));
  EXPECT_THAT(ended.out, HasSubstr("none/r.json: its folder does not exist\n"));
  EXPECT_THAT(ended.out, EndsWith(one_green));
  EXPECT_TRUE(fs::exists(file("r.xml")));
}

TEST_F(Command, IsRedWhereANamedPackDoesNotLoad) {
  const Ended ended = run(green_run({"--pack", file("none.so")}));
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, HasSubstr("packs that did not load\n  " + file("none.so")));
}

TEST_F(Command, RunsAUsersOwnPack) {
  const Ended ended = run(green_run({}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, EndsWith(one_green));
}

TEST_F(Command, RepeatsWhatFailedTheLastTime) {
  EXPECT_EQ(run({"run", "--last-failed"}).code, 4);
  const Words first{"run", "--quick", "--seed", "7", "--pack", user_pack("user_softmax_wrong"), "user_softmax*"};
  const Ended red = run(first);
  ASSERT_EQ(red.code, 1) << red.out << red.err;
  const Ended again = run({"run", "--last-failed", "--json", file("again.json")});
  EXPECT_EQ(again.code, 1) << again.out << again.err;
  const Report report = from_json(read_file(file("again.json")));
  EXPECT_EQ(report.result.seed, 7U);
  EXPECT_GT(report.result.cases_run, 0);
  for (const contracts::CaseResult& one : report.result.cases)
    EXPECT_EQ(one.state, contracts::State::red) << one.name();
  // The command that a failure names repeats it.
  EXPECT_EQ(
      run({"explain", report.result.cases.at(0).name(), "--seed", "7", "--pack", user_pack("user_softmax_wrong")}).code,
      1);
  ASSERT_EQ(run(green_run({})).code, 0);
  const Ended none = run({"run", "--last-failed"});
  EXPECT_EQ(none.code, 4);
  EXPECT_THAT(none.err, HasSubstr("no case was red in the last run: nothing to run\n"));
}

TEST_F(Command, MergesShardsIntoOne) {
  Words merge{"merge"};
  for (const char* shard : {"1", "2", "3"}) {
    const Words part = green_run({"--shard", std::string(shard) + "/3", "--json", file(std::string(shard) + ".json")});
    const int code = run(part).code;
    EXPECT_TRUE(code == 0 || code == 4) << code;  // a shard of one kernel may be empty
    merge.push_back(file(std::string(shard) + ".json"));
  }
  const Ended merged = run(merge);
  EXPECT_EQ(merged.code, 0) << merged.out;
  EXPECT_THAT(merged.out, EndsWith(one_green));
  ASSERT_EQ(run(green_run({"--json", file("whole.json")})).code, 0);
  merge.insert(merge.end(), {"--json", file("merged.json")});
  ASSERT_EQ(run(merge).code, 0);
  EXPECT_EQ(from_json(read_file(file("merged.json"))).result.cases_run,
            from_json(read_file(file("whole.json"))).result.cases_run);
  const Ended missing = run({"merge", file("1.json"), file("3.json")});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.out, HasSubstr("harness error shard 2 of 3 is missing\n"));
  EXPECT_EQ(run({"merge", file("1.json"), file("2.json"), file("none.json")}).code, 3);
}

TEST_F(Command, ReportsWhatWasFinishedWhenInterrupted) {
  for (const int number : {SIGINT, SIGTERM}) {
    Process process(words({"run", "--full", "--json", file("r.json")}), {});
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    process.signal(number);
    const Ended ended = process.wait();
    EXPECT_EQ(ended.code, 130) << ended.out << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("interrupted: only what was finished is reported\n"));
    EXPECT_THAT(ended.out, HasSubstr("\nSUMMARY "));
    EXPECT_TRUE(from_json(read_file(file("r.json"))).result.interrupted);
  }
  Process process(words({"run", "--full", "--bisect-exit"}), {});
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait().code, 125);
}

TEST_F(Command, ListsWhatThereIs) {
  EXPECT_THAT(run({"list"}).out, HasSubstr("softmax.tile.f32"));
  EXPECT_THAT(run({"list", "clauses"}).out, HasSubstr("gate1.reference"));
  EXPECT_THAT(run({"list", "problems"}).out, HasSubstr("softmax"));
}

}  // namespace
}  // namespace nbx::reports
