// Gate 5: reading what a compiler made, and judging it. Each kind of change is planted once in a record, and once in a
// kernel that is compiled here where there is an nvcc.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "contracts/codegen/gate5.hpp"
#include "contracts/codegen/process.hpp"

namespace nbx::testing {
namespace {

using namespace contracts::codegen;
using contracts::CaseResult;
using contracts::State;
namespace fs = std::filesystem;

TEST(ShellWords, AreSplitAsAShellDoes) {
  EXPECT_EQ(shell_words(R"(nvcc -DX="\"a b\"" 'c d' e\ f  -g)"),
            (std::vector<std::string>{"nvcc", "-DX=\"a b\"", "c d", "e f", "-g"}));
  EXPECT_EQ(shell_words("a ''"), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(shell_words(R"("a\$b" "c\d" '\$')"), (std::vector<std::string>{"a$b", "c\\d", "\\$"}));
}

TEST(RunTool, TellsCodeAndOutputAndWhatIsMissing) {
  const Ended ended = run_tool({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.output, "out\nerr\n");
  EXPECT_EQ(run_tool({"sh", "-c", "kill -9 $$"}).code, 128 + 9);
  EXPECT_THROW(run_tool({"/nonexistent/tool"}), std::runtime_error);
}

TEST(PtxHash, LeavesOutCommentsAndPathsAlone) {
  const std::uint64_t one = ptx_hash("// by A\n.version 9.0\n\tadd.f32 %f1, %f2, %f3; // here\n.file 1 \"/a/b.cu\"\n");
  EXPECT_EQ(one, ptx_hash("// by B\n\n.version 9.0\nadd.f32 %f1, %f2, %f3;\n.file 1 \"/c/b.cu\"\n"));
  EXPECT_NE(one, ptx_hash(".version 9.0\nadd.f32 %f1, %f2, %f4;\n"));
  EXPECT_EQ(ptx_hash("call _ZN72_INTERNAL_0123abcd_4_x_cu_89abcdef_17f;"),
            ptx_hash("call _ZN72_INTERNAL_fedcba98_4_x_cu_76543210_17f;"));
}

constexpr const char* assembler_log = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 48 registers, used 2 barriers, 16 bytes cumulative stack size
ptxas info    : Compiling entry function 'b' for 'sm_90'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers
)";

TEST(AssemblerLog, GivesSpillsAndBarriers) {
  std::map<std::string, Function> functions{{"a", {}}, {"b", {}}};
  add_assembler_log(assembler_log, functions);
  EXPECT_EQ(functions["a"].spill_stores, 8);
  EXPECT_EQ(functions["a"].spill_loads, 12);
  EXPECT_EQ(functions["a"].barriers, 2);
  EXPECT_EQ(functions["b"].barriers, 0);
  std::map<std::string, Function> unknown{{"a", {}}};
  EXPECT_THROW(add_assembler_log(assembler_log, unknown), std::runtime_error);
  std::map<std::string, Function> more{{"a", {}}, {"b", {}}, {"c", {}}};
  EXPECT_THROW(add_assembler_log(assembler_log, more), std::runtime_error);
}

Record sample() {
  Function function;
  function.registers = 48, function.threads = 128, function.barriers = 1, function.code = 640;
  function.machine_code = 0x123456789ABCDEF0;
  Record record{{"nvcc 13.0.88", "g++ 12.2.0"}, "-O3", {}};
  record.kernels["x.y.f32"]["sm_90"] = {0xABCDEF, {{"entry", function}}};
  return record;
}

Function& function_of(Record& record) { return record.kernels["x.y.f32"]["sm_90"].functions["entry"]; }

TEST(CodegenRecord, IsReadAsItWasWritten) {
  const fs::path file = fs::path(::testing::TempDir()) / "codegen-record.json";
  Record record = sample();
  function_of(record).spill_loads = 7;
  write_record(file, record);
  const Record read = read_record(file);
  EXPECT_EQ(read.compiler, record.compiler);
  EXPECT_EQ(read.kernels, record.kernels);
  std::ofstream(file) << "{}";
  EXPECT_THROW(read_record(file), std::runtime_error);
  fs::remove(file);
}

TEST(CodegenRecord, TakesAPartBesideWhatItHolds) {
  Record kept = sample();
  kept.kernels["x.y.f32"]["sm_80"].ptx = 1;
  kept.kernels["z.f16"]["sm_90"].ptx = 2;
  Record part = sample();
  part.kernels["x.y.f32"]["sm_90"].ptx = 3;
  const Record both = merged(kept, part);
  EXPECT_EQ(both.kernels.at("x.y.f32").at("sm_80").ptx, 1U);
  EXPECT_EQ(both.kernels.at("x.y.f32").at("sm_90").ptx, 3U);
  EXPECT_EQ(both.kernels.at("z.f16").at("sm_90").ptx, 2U);
  kept.flags = "-O2";
  EXPECT_EQ(merged(kept, part).kernels, part.kernels);
  kept.flags = part.flags;
  kept.compiler.device = "nvcc 13.1.0";
  EXPECT_EQ(merged(kept, part).kernels, part.kernels);
}

/// The states of gate5.resources and gate5.code.
std::pair<State, State> states(const Record& now, const Record* kept, const nbx_limits& limits = default_limits()) {
  const std::vector<CaseResult> cases = judge("x.y.f32", limits, now, kept);
  EXPECT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases.at(0).clause, "gate5.resources");
  EXPECT_EQ(cases.at(1).clause, "gate5.code");
  return {cases.at(0).state, cases.at(1).state};
}

std::string told(const CaseResult& one) {
  std::string text = one.reason;
  if (one.red) {
    for (const auto& [label, line] : one.red->lines) text += "\n" + label + " " + line;
  }
  return text;
}

TEST(Gate5, HoldsWhatIsRecorded) {
  const Record kept = sample();
  EXPECT_EQ(states(sample(), &kept), std::pair(State::pass, State::pass));
}

TEST(Gate5, IsRedWithOldAndNewValuesWhereResourcesChange) {
  const Record kept = sample();
  Record now = sample();
  function_of(now).registers = 56;
  const auto cases = judge("x.y.f32", default_limits(), now, &kept);
  ASSERT_EQ(cases.at(0).state, State::red);
  EXPECT_NE(told(cases[0]).find("registers 48 -> 56"), std::string::npos) << told(cases[0]);
  for (std::int64_t Function::*field :
       {&Function::shared, &Function::barriers, &Function::constant, &Function::threads}) {
    now = sample();
    function_of(now).*field += 1;
    EXPECT_EQ(states(now, &kept).first, State::red);
  }
  now = sample();
  now.kernels["x.y.f32"]["sm_90"].functions["second"] = function_of(now);
  EXPECT_EQ(states(now, &kept).first, State::red);
  EXPECT_EQ(states(sample(), &now).first, State::red);
}

TEST(Gate5, IsStaleWhereCodeAloneChanges) {
  const Record kept = sample();
  Record now = sample();
  function_of(now).machine_code ^= 1;
  function_of(now).code += 16;
  EXPECT_EQ(states(now, &kept), std::pair(State::pass, State::stale));
}

TEST(Gate5, IsPendingForAnUnknownCompilerAndStillHoldsLimits) {
  EXPECT_EQ(states(sample(), nullptr), std::pair(State::pending, State::pending));
  Record now = sample();
  function_of(now).spill_stores = 4;
  EXPECT_EQ(states(now, nullptr), std::pair(State::red, State::pending));
  now = sample();
  function_of(now).stack = 8;
  EXPECT_EQ(states(now, nullptr).first, State::red);
  nbx_limits limits = default_limits();
  limits.registers = 40;
  EXPECT_EQ(states(sample(), nullptr, limits).first, State::red);
  limits.registers = 48;
  EXPECT_EQ(states(sample(), nullptr, limits).first, State::pending);
}

#if defined(NBX_NVCC)

class Compiled : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("codegen-" + std::to_string(getpid()));
    fs::create_directories(folder_ / "kernels");
    fs::copy_file(NBX_PLANTED, source_, fs::copy_options::overwrite_existing);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Build built(const std::string& flags) {
    const nlohmann::json commands = nlohmann::json::array(
        {{{"directory", folder_.string()},
          {"file", source_.string()},
          {"command", std::string(NBX_NVCC) + " -std=c++20 " + flags + " -c " + source_.string() + " -o x.o"}}});
    std::ofstream(folder_ / "commands.json") << commands.dump();
    const std::atomic<bool> stop{false};
    Build build = contracts::codegen::build(
        {{"x.y.f32", "kernels/x.cu"}}, {folder_ / "commands.json", folder_ / "cache", "", {"sm_90", "sm_9"}, 1}, stop);
    EXPECT_TRUE(build.errors.empty()) << build.errors.at(0);
    EXPECT_EQ(build.unknown, std::vector<std::string>{"sm_9"});
    return build;
  }

  /// For every architecture that the compiler knows.
  Build built_for_all() {
    built("");
    return contracts::codegen::build({{"x.y.f32", "kernels/x.cu"}},
                                     {folder_ / "commands.json", folder_ / "cache", "", {}, 2},
                                     std::atomic<bool>{false});
  }

  fs::path folder_ = fs::path(::testing::TempDir()) / ("codegen-" + std::to_string(getpid()));
  fs::path source_ = folder_ / "kernels" / "x.cu";
};

TEST_F(Compiled, EachPlantIsSeen) {
  const Build honest = built("");
  EXPECT_EQ(honest.compiled, 1);
  const Function& function = honest.record.kernels.at("x.y.f32").at("sm_90").functions.at("planted");
  EXPECT_GT(function.registers, 24);
  EXPECT_GT(function.code, 0);
  EXPECT_EQ(function.spill_loads, 0);
  EXPECT_EQ(function.threads, 1024);

  EXPECT_EQ(built("").cached, 1);
  EXPECT_EQ(states(built("").record, &honest.record), std::pair(State::pass, State::pass));
  EXPECT_EQ(states(built("-DPLANT=1").record, &honest.record), std::pair(State::pass, State::stale));
  EXPECT_EQ(states(built("-DPLANT=2").record, &honest.record), std::pair(State::red, State::stale));

  const Build spilled = built("-maxrregcount=16");
  EXPECT_GT(spilled.record.kernels.at("x.y.f32").at("sm_90").functions.at("planted").spill_stores, 0);
  EXPECT_EQ(states(spilled.record, nullptr), std::pair(State::red, State::pending));

  // Another content is compiled again under the same command; a comment alone makes the same code.
  std::ofstream(source_, std::ios::app) << "// more\n";
  const Build again = built("");
  EXPECT_EQ(again.compiled, 1);
  EXPECT_EQ(again.record.kernels, honest.record.kernels);
}

TEST_F(Compiled, IsOfEveryArchitectureThatTheCompilerKnowsFromTheFirstThatServes) {
  const Build all = built_for_all();
  const auto& by_architecture = all.record.kernels.at("x.y.f32");
  const std::string listed = run_tool({NBX_NVCC, "--list-gpu-code"}).output;
  std::istringstream lines(listed);
  std::size_t known = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line == "sm_75") continue;
    ++known;
    EXPECT_TRUE(by_architecture.contains(line)) << line;
  }
  EXPECT_EQ(by_architecture.size(), known);
  for (const char* held : held_architectures) EXPECT_TRUE(by_architecture.contains(held)) << held;
}

TEST_F(Compiled, AUnitThatDoesNotCompileIsAnError) {
  std::ofstream(source_, std::ios::app) << "no code\n";
  const nlohmann::json commands =
      nlohmann::json::array({{{"directory", folder_.string()},
                              {"file", source_.string()},
                              {"command", std::string(NBX_NVCC) + " -c " + source_.string()}}});
  std::ofstream(folder_ / "commands.json") << commands.dump();
  const std::atomic<bool> stop{false};
  const BuildOptions options{folder_ / "commands.json", folder_ / "cache", "", {"sm_90"}, 1};
  const Build build = contracts::codegen::build({{"x.y.f32", "kernels/x.cu"}}, options, stop);
  ASSERT_EQ(build.errors.size(), 1u);
  EXPECT_NE(build.errors[0].find("x.y.f32 for sm_90"), std::string::npos);
  EXPECT_TRUE(build.record.kernels.empty());
  EXPECT_THROW(contracts::codegen::build({{"other", "kernels/other.cu"}}, options, stop), std::runtime_error);
}

#endif

}  // namespace
}  // namespace nbx::testing
