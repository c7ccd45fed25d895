// Two toolchains on a CUDA unit, without a device: what becomes of its machine code, by whose stage and flag.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "process.hpp"
#include "reports/bisect/stage.hpp"
#include "reports/program.hpp"
#include "reports/toolchains/mixed_nvcc.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

TEST(Stage, IsBlamedByWhatTheMixturesDo) {
  using bisect::Answer;
  using bisect::blame_stage;
  using Culprit = bisect::StageBlame::Culprit;
  EXPECT_EQ(blame_stage(Answer::changed, Answer::same), Culprit::front_end);
  EXPECT_EQ(blame_stage(Answer::same, Answer::changed), Culprit::ptxas);
  EXPECT_EQ(blame_stage(Answer::changed, Answer::changed), Culprit::each);
  EXPECT_EQ(blame_stage(Answer::same, Answer::same), Culprit::together);
  EXPECT_EQ(blame_stage(Answer::untestable, Answer::changed), Culprit::untestable);
  EXPECT_EQ(blame_stage(Answer::same, Answer::untestable), Culprit::untestable);
}

#if defined(NBX_NVCC)
class DeviceCode : public testing::Test {
 protected:
  DeviceCode() {
    write("commands.json", json::array({{{"directory", own_.path().string()},
                                         {"file", unit_.string()},
                                         {"command", "nvcc -arch=sm_90 -O3 -c " + unit_.string() + " -o planted.o"}}})
                               .dump());
    write("good.json", json{{"name", "as it is"}, {"nvcc", NBX_NVCC}}.dump());
  }
  void write(const std::string& name, const std::string& text) { ASSERT_EQ(write_file(file(name), text), ""); }
  std::string file(const std::string& name) const { return own_.path() / name; }

  json asked(Words words, const json& bad, int code) {
    json toolchain = bad;
    toolchain["name"] = "planted";
    if (!toolchain.contains("nvcc")) toolchain["nvcc"] = NBX_NVCC;
    write("bad.json", toolchain.dump());
    for (const char* word : {"--units", "commands.json", "--cache", "cache", "--json", "out.json"}) {
      words.push_back(word[0] == '-' ? word : file(word));
    }
    ended_ = call(words);
    EXPECT_EQ(ended_.code, code) << ended_.out << ended_.err;
    return json::parse(read_file(file("out.json")));
  }
  json stage(const json& bad) {
    return asked({NBX_COMMAND, "diff", file("good.json"), file("bad.json"), "--stage"}, bad, 1)
        .at("code")
        .at("differing")
        .at(0);
  }
  json bisect(const json& bad, int code = 1) {
    return asked({NBX_COMMAND, "bisect", "--good", file("good.json"), "--bad", file("bad.json"), "--until", "code"},
                 bad, code);
  }

  const fs::path unit_ = fs::path(NBX_SOURCE) / "tests/contracts/codegen/planted.cu";
  TemporaryFolder own_;
  Ended ended_;
};

TEST_F(DeviceCode, TheFrontEndIsToldFromTheAssembler) {
  // Each mixture has the good side in it, so these also hold the linked toolkit against the real one.
  const json front_end = stage({{"nvcc_flags", {"-DPLANT=1"}}});
  EXPECT_EQ(front_end.at("stage"), "front end");
  EXPECT_EQ(front_end.at("kernel"), "planted.cu");
  EXPECT_EQ(front_end.at("ptx_differs"), true);
  const json ptxas = stage({{"ptxas_flags", {"-O1"}}});
  EXPECT_EQ(ptxas.at("stage"), "ptxas");
  EXPECT_EQ(ptxas.at("ptx_differs"), false);
  EXPECT_THAT(ended_.out, HasSubstr("other machine code from the same PTX"));
  EXPECT_EQ(stage({{"nvcc_flags", {"-DPLANT=1"}}, {"ptxas_flags", {"-O1"}}}).at("stage"), "each");
}

TEST_F(DeviceCode, ABisectNamesUnitStageAndFlagWithNoDevice) {
  // A flag for this unit alone beside one that changes nothing.
  json out = bisect({{"nvcc_flags", {"-DUNUSED"}}, {"unit_flags", {{"planted.cu", {"-DPLANT=2"}}}}});
  ASSERT_EQ(out.at("sets").size(), 1U);
  EXPECT_EQ(out.at("sets").at(0).at("units"), json::parse(R"(["planted.cu"])"));
  EXPECT_EQ(out.at("sets").at(0).at("stage"), "front end");
  EXPECT_EQ(out.at("sets").at(0).at("flags"), json::parse(R"([["-DPLANT=2"]])"));
  EXPECT_THAT(ended_.out, HasSubstr("registers "));
  EXPECT_THAT(ended_.out, HasSubstr("BISECT 1 minimal set of units brings the change"));

  out = bisect({{"ptxas_flags", {"-O1"}}});
  EXPECT_EQ(out.at("sets").at(0).at("stage"), "ptxas");
  EXPECT_EQ(out.at("sets").at(0).at("flags"), json::parse(R"([["-Xptxas=-O1"]])"));
  const json& evidence = out.at("sets").at(0).at("evidence").at(0);
  EXPECT_EQ(evidence.at("good_ptx"), evidence.at("bad_ptx"));

  out = bisect({{"nvcc_flags", {"-use_fast_math"}}});
  EXPECT_EQ(out.at("sets").at(0).at("parts").at(0), json::parse(R"(["-use_fast_math", [["-ftz=true"]]])"));
}

TEST_F(DeviceCode, AFlagGivenTwiceIsNoHindrance) {
  // nvcc warns of it on every call. The unit is compiled and linked by both sides, and is no pack.
  write("commands.json",
        json::array({{{"directory", own_.path().string()},
                      {"file", unit_.string()},
                      {"command", "nvcc -arch=sm_90 -ftz=false -Xcompiler=-fPIC -c " + unit_.string()}}})
            .dump());
  write("bad.json", json{{"name", "planted"}, {"nvcc_flags", {"-ftz=true"}}}.dump());
  const Ended ended = call({NBX_COMMAND, "bisect", "--good", file("good.json"), "--bad", file("bad.json"), "--units",
                            file("commands.json"), "--cache", file("cache")});
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.err, HasSubstr("the good toolchain's pack cannot be judged: "));
  std::size_t objects = 0;
  for (const auto& entry : fs::directory_iterator(file("cache"))) {
    objects += entry.path().filename().string().starts_with("raw-");
  }
  EXPECT_EQ(objects, 2U);
}

TEST_F(DeviceCode, ABisectSaysWhereNothingChangesAndWhereItCannotBeAsked) {
  EXPECT_EQ(bisect({{"nvcc_flags", {"-DUNUSED"}}}, 0).at("suspects"), 0);
  EXPECT_THAT(ended_.out, HasSubstr("BISECT nothing changed\n"));
  const json out = bisect({{"nvcc_flags", {"-DPLANT=none"}}}, 3);
  EXPECT_EQ(out.at("untestable").at(0).at("unit"), "planted.cu");
  EXPECT_THAT(ended_.out, HasSubstr("planted does not compile it"));
  EXPECT_THAT(ended_.out, HasSubstr("BISECT nothing changed in what could be tested; 1 unit cannot be tested"));
}

TEST_F(DeviceCode, AnOlderAssemblerIsGivenPtxThatSaysItsOwnVersion) {
  const fs::path tool = own_.path() / "ptxas", log = own_.path() / "log";
  write("ptxas",
        "#!/bin/sh\nfor word; do\n  case $word in\n    *version.ptx) echo \"Unsupported .version 99.0; current "
        "version is '8.0'\"; exit 1 ;;\n    *.ptx) grep '^.version' \"$word\" >>" +
            log.string() + " ;;\n  esac\ndone\nexec " + ptxas_of(NBX_NVCC).string() + " \"$@\"\n");
  fs::permissions(tool, fs::perms::owner_all);
  const fs::path nvcc = mixed_nvcc(NBX_NVCC, tool, own_.path());
  const Finished made = run_program({nvcc, "-arch=sm_90", "-cubin", unit_, "-o", own_.path() / "cubin"});
  EXPECT_EQ(made.code, 0) << made.output;
  EXPECT_EQ(read_file(log), ".version 8.0\n");
  EXPECT_EQ(mixed_nvcc(NBX_NVCC, tool, own_.path()), nvcc);
  EXPECT_THROW(mixed_nvcc(NBX_NVCC, own_.path() / "none", own_.path()), std::runtime_error);
}
#endif

}  // namespace
}  // namespace nbx::reports
