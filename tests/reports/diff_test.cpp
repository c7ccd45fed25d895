// Two records held against each other. (Two toolchains: bisect_test.cpp on host units, device_code_test.cpp on CUDA.)
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "contracts/codegen/record.hpp"
#include "contracts/records.hpp"
#include "process.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

class Diff : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return own_.path() / name; }
  void write(const std::string& name, const std::string& text) { ASSERT_EQ(write_file(file(name), text), ""); }

  /// Records what a test pack's user_softmax gives.
  void record(const std::string& pack, const std::string& name, const Words& more) {
    Words words{NBX_COMMAND, "record",   "--quick",     "--pack", fs::path(NBX_TEST_PACKS) / (pack + ".so"),
                "--output",  file(name), "user_softmax"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = call(words);
    ASSERT_EQ(ended.code, 0) << ended.err;
  }

  json diff(const Words& more, int code) {
    Words words{NBX_COMMAND, "diff", "--json", file("diff.json")};
    words.insert(words.end(), more.begin(), more.end());
    ended_ = call(words);
    EXPECT_EQ(ended_.code, code) << ended_.out << ended_.err;
    return code <= 1 ? json::parse(read_file(file("diff.json"))) : json();
  }

  TemporaryFolder own_;
  Ended ended_;
};

TEST_F(Diff, StoredOutputsTellTheElementTheUlpsAndTheBound) {
  record("user_softmax", "right.json", {"--outputs"});
  record("user_softmax_wrong", "wrong.json", {"--outputs"});
  const std::string pack = fs::path(NBX_TEST_PACKS) / "user_softmax.so";
  const json out = diff({file("right.json"), file("wrong.json"), "--pack", pack}, 1);
  const json& kernel = out.at("bits").at("differing").at(0);
  EXPECT_EQ(kernel.at("kernel"), "user_softmax.plain.f32");
  EXPECT_GT(kernel.at("changed_cases"), 5);
  const json& element = kernel.at("element");
  // One addend fewer of many is within the bound of some cases; the one shown leaves it.
  EXPECT_GT(kernel.at("outside"), 3);
  EXPECT_EQ(kernel.at("within").get<int>() + kernel.at("outside").get<int>(), kernel.at("changed_cases"));
  EXPECT_EQ(element.at("output"), "y");
  EXPECT_GE(element.at("ulps"), 1);
  EXPECT_EQ(element.at("within_bound"), false);
  EXPECT_EQ(element.at("first").at("wrong"), 0);
  EXPECT_GT(element.at("second").at("wrong"), 0);
  EXPECT_THAT(ended_.out, HasSubstr("first takes 0"));
  EXPECT_THAT(ended_.out, HasSubstr(" stay within the bound, "));
  // Without a pack here that has the kernel there is no bound, and the elements are told all the same.
  const json alone = diff({file("right.json"), file("wrong.json")}, 1);
  const json& unbounded = alone.at("bits").at("differing").at(0).at("element");
  EXPECT_EQ(unbounded.at("index"), element.at("index"));
  EXPECT_EQ(unbounded.at("no_bound"), "no pack here has the kernel");
}

TEST_F(Diff, WithoutStoredOutputsItNamesBlocks) {
  contracts::Record record;
  record.device = "some device";
  using contracts::Fingerprint;
  auto& flash = record.kernels["flash.x.f32"];
  flash["first"]["o"] = Fingerprint{1, {10, 11, 12, 13, 14}};
  flash["first"]["lse"] = Fingerprint{2, {20}};
  flash["second"]["o"] = Fingerprint{3, {30}};
  record.kernels["softmax.x.f32"]["only"]["y"] = Fingerprint{4, {40}};
  contracts::write_record(file("a.json"), record);
  EXPECT_EQ(diff({file("a.json"), file("a.json")}, 0).at("differs"), false);
  EXPECT_THAT(ended_.out, HasSubstr("DIFF bits: 2 kernels, 3 cases compared: 0 cases of 0 kernels changed"));

  contracts::Record other = record;
  other.kernels["flash.x.f32"]["first"]["o"] = Fingerprint{9, {10, 99, 12, 98, 97}};
  contracts::write_record(file("b.json"), other);
  json out = diff({file("a.json"), file("b.json")}, 1);
  const json& kernel = out.at("bits").at("differing").at(0);
  EXPECT_THAT(kernel.at("changed").dump(), HasSubstr(R"("blocks":[1,3,4],"of":5)"));
  EXPECT_EQ(kernel.at("changed").size(), 1U);
  EXPECT_THAT(kernel.at("no_element"), HasSubstr("a.safetensors is not there (record --outputs writes it)"));
  EXPECT_THAT(ended_.out, HasSubstr("o block 1, 3-4 of 5 blocks: first"));
  EXPECT_EQ(diff({file("a.json"), file("b.json"), "softmax"}, 0).at("bits").at("kernels"), 1);

  // What only one of them has was not compared, and is a difference.
  other = record;
  other.kernels["flash.x.f32"].erase("second");
  other.kernels["new.x.f32"] = other.kernels["softmax.x.f32"];
  contracts::write_record(file("b.json"), other);
  out = diff({file("a.json"), file("b.json")}, 1);
  EXPECT_EQ(out.at("bits").at("only_second"), json::parse(R"(["new.x.f32"])"));
  EXPECT_EQ(out.at("bits").at("differing").at(0).at("only_first"), json::parse(R"(["second"])"));

  diff({file("a.json"), file("b.json"), "no.such.kernel"}, 4);
  other.seed = 2;
  contracts::write_record(file("b.json"), other);
  diff({file("a.json"), file("b.json")}, 3);
  EXPECT_THAT(ended_.err, HasSubstr("seeds 1 and 2; accepted: two records of one seed"));
}

TEST_F(Diff, CodegenRecordsByResourceAndMachineCode) {
  namespace codegen = contracts::codegen;
  codegen::Function function;
  function.registers = 48;
  function.code = 640;
  function.machine_code = 1;
  codegen::Record record{{"nvcc 13.0.88", "g++ 12.2.0"}, "-O3", {}};
  for (const char* kernel : {"a.x.f32", "b.x.f32", "c.x.f32"}) {
    record.kernels[kernel]["sm_90"] = {7, {{"_Z5entryl", function}}};
    record.kernels[kernel]["sm_80"] = {7, {{"_Z5entryl", function}}};
  }
  codegen::write_record(file("a.json"), record);
  codegen::Function& changed = record.kernels["a.x.f32"]["sm_90"].functions["_Z5entryl"];
  changed.registers = 40;
  changed.machine_code = 2;
  record.kernels["b.x.f32"]["sm_90"].functions["_Z5entryl"].machine_code = 3;
  record.kernels["c.x.f32"]["sm_90"].ptx = 8;  // as every version of nvcc writes its own number
  codegen::write_record(file("b.json"), record);

  const json out = diff({file("a.json"), file("b.json")}, 1).at("code");
  ASSERT_EQ(out.at("differing").size(), 2U);
  EXPECT_EQ(out.at("differing").at(0).at("kernel"), "a.x.f32");
  EXPECT_EQ(out.at("differing").at(0).at("functions").at(0).at("resources").dump(), R"({"registers":[48,40]})");
  EXPECT_EQ(out.at("differing").at(1).at("resources_differ"), false);
  EXPECT_EQ(out.at("differing").at(1).at("code_differs"), true);
  EXPECT_THAT(ended_.out, HasSubstr("a.x.f32 for sm_90   other machine code from the same PTX"));
  EXPECT_THAT(ended_.out, HasSubstr("entry(long)"));
  EXPECT_THAT(ended_.out, HasSubstr("DIFF code: 3 kernels, 6 compilations compared: 2 with other machine code, 1 with "
                                    "other resources, 0 only in one"));
  EXPECT_EQ(diff({file("a.json"), file("b.json"), "--arch", "sm_80"}, 0).at("code").at("compilations"), 3);
  record.kernels["c.x.f32"].erase("sm_80");
  codegen::write_record(file("b.json"), record);
  EXPECT_EQ(diff({file("a.json"), file("b.json")}, 1).at("code").at("only_first").dump(), R"(["c.x.f32 for sm_80"])");
}

TEST_F(Diff, WhatCannotBeComparedIsRefused) {
  contracts::write_record(file("bits.json"), {});
  contracts::codegen::write_record(file("code.json"), {});
  write("list.json", "[1]");
  diff({file("bits.json"), "gcc-12"}, 2);
  EXPECT_THAT(ended_.err,
              HasSubstr("bits.json is a record of bits and gcc-12 is a toolchain; accepted: two of a kind"));
  diff({file("bits.json"), file("bits.json"), "--stage"}, 2);
  EXPECT_THAT(ended_.err, HasSubstr("--stage asks compilers: it takes two toolchains"));
  diff({file("bits.json"), file("missing.json")}, 3);
  EXPECT_THAT(ended_.err, HasSubstr("missing.json"));
  diff({file("list.json"), file("bits.json")}, 3);
  EXPECT_THAT(ended_.err, HasSubstr("list.json: not a record and no toolchain"));
  diff({file("bits.json")}, 2);
  EXPECT_EQ(call({NBX_COMMAND, "record", "--codegen", "--outputs"}).code, 2);
}

TEST_F(Diff, APackAcrossCompilersAndFlags) {
  const std::string unit = fs::path(NBX_SOURCE) / "tests/packs/user_softmax.cpp";
  write(
      "commands.json",
      json::array({{{"directory", own_.path().string()},
                    {"file", unit},
                    {"command", "g++ -std=c++20 -O2 -fPIC -ffp-contract=off -I" NBX_SOURCE " -c " + unit + " -o x.o"}}})
          .dump());
  const auto across = [&](const Words& more) {
    Words words{NBX_COMMAND,
                "toolchains",
                "--bits",
                "--pack",
                fs::path(NBX_TEST_PACKS) / "user_softmax.so",
                "--units",
                file("commands.json"),
                "--cache",
                file("cache"),
                "--json",
                file("across.json"),
                "user_softmax"};
    words.insert(words.end(), more.begin(), more.end());
    ended_ = call(words);
    return ended_.code;
  };
  EXPECT_EQ(across({"--with", "g++", "--flags=-O0 -march=x86-64", "--flags=-O3"}), 0) << ended_.out << ended_.err;
  EXPECT_THAT(ended_.out, HasSubstr("ACROSS gate3.compilers: 2 of 2 builds give the bits of the pack as it was built"));
  const json builds = json::parse(read_file(file("across.json"))).at("builds");
  EXPECT_EQ(builds.size(), 2U);
  // The quick problems, if not told otherwise.
  EXPECT_EQ(across({"--with", "g++", "--flags=-O3", "--quick"}), 0);
  EXPECT_EQ(json::parse(read_file(file("across.json"))).at("builds").at(0).at("cases"), builds.at(0).at("cases"));
  EXPECT_EQ(across({"--with", "g++", "--flags=-O3", "--full"}), 0);
  EXPECT_GT(json::parse(read_file(file("across.json"))).at("builds").at(0).at("cases"), builds.at(0).at("cases"));
  EXPECT_EQ(across({"--with", "g++", "--flags=-O0", "--flags=-O3 -ffast-math"}), 1) << ended_.out << ended_.err;
  EXPECT_THAT(ended_.out, HasSubstr("OTHER BITS g++ -O3 -ffast-math"));
  EXPECT_THAT(ended_.out, HasSubstr("ACROSS gate3.compilers: 1 of 2 builds"));
  EXPECT_EQ(json::parse(read_file(file("across.json"))).at("builds").at(1).at("same"), false);
  // A build that fails compared nothing.
  EXPECT_EQ(across({"--with", "g++", "--flags=-O0 -no-such-flag"}), 1);
  EXPECT_THAT(ended_.out, HasSubstr("nothing was compared"));
  EXPECT_EQ(call({NBX_COMMAND, "toolchains", "--with", "g++"}).code, 2);
}

}  // namespace
}  // namespace nbx::reports
