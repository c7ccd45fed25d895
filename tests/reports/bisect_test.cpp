// The bisect at work on a pack of forty small units, with each thing to find planted by a toolchain's flags.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "process.hpp"
#include "reports/program.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using Words = std::vector<std::string>;

/// Units with more in them than a plain row.
const std::map<std::string, std::string> special{
    // An inline function and an inline variable of both, which a linker keeps one copy of.
    {"03", R"(inline float third = 3.0F;
__attribute__((noinline)) inline float shared(float x) { return x / third / 7.0F; }
static void row(const float* x, float* y, std::int64_t n) { tiny_plain_row(x, y, n); y[0] += shared(y[0]) * 0x1p-20F; })"},
    {"04", R"(inline float third = 3.0F;
__attribute__((noinline)) inline float shared(float x) { return x / third / 7.0F; }
static void row(const float* x, float* y, std::int64_t n) { tiny_plain_row(x, y, n); y[0] += shared(y[0]) * 0x1p-20F; })"},
    // Two units whose change shows together alone.
    {"08", R"(#ifdef PLANT_PAIR
float pair_first() { return 0x1p-10F; }
#else
float pair_first() { return 0; }
#endif
float pair_second();
static void row(const float* x, float* y, std::int64_t n) { tiny_plain_row(x, y, n); y[0] *= 1 + pair_first() * pair_second(); })"},
    {"21", R"(#ifdef PLANT_PAIR
float pair_second() { return 0x1p-10F; }
#else
float pair_second() { return 0; }
#endif
static void row(const float* x, float* y, std::int64_t n) { tiny_plain_row(x, y, n); })"},
    // Two threads that update one number without taking turns.
    {"12", R"(#ifdef PLANT_RACE
#include <pthread.h>
#include <sched.h>
static volatile std::uint32_t order;
static void* racer(void* own) {
  for (int i = 0; i < 3000; ++i) {
    order = order * 31 + static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(own));
    sched_yield();
  }
  return nullptr;
}
static void row(const float* x, float* y, std::int64_t n) {
  tiny_plain_row(x, y, n);
  order = 0;
  pthread_t threads[2];
  for (std::uintptr_t i = 0; i < 2; ++i) pthread_create(&threads[i], nullptr, racer, reinterpret_cast<void*>(i + 1));
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  y[0] *= 1 + static_cast<float>(order & 1023) * 0x1p-20F;
}
#else
static void row(const float* x, float* y, std::int64_t n) { tiny_plain_row(x, y, n); }
#endif
)"},
    {"30", R"(#ifdef PLANT_ERROR
#error this compiler does not know the unit
#endif
static void row(const float* x, float* y, std::int64_t n) { tiny_plain_row(x, y, n); })"},
    // A wrong answer, for the gates.
    {"36", R"(#ifdef PLANT_WRONG
static void row(const float* x, float* y, std::int64_t n) { tiny_plain_row(x, y, n - 1); y[n - 1] = 0; }
#else
static void row(const float* x, float* y, std::int64_t n) { tiny_plain_row(x, y, n); }
#endif
)"}};

class Bisect : public testing::Test {
 protected:
  // The folder stays, so that the tests share what they build: it is found again by content alone.
  Bisect() {
    fs::create_directories(folder_);
    std::string list;
    json commands = json::array();
    const auto add = [&](const std::string& file, const std::string& text) {
      write(file, text);
      commands.push_back(
          {{"directory", folder_.string()},
           {"file", file},
           {"command", "g++ -std=c++20 -O2 -fPIC -Werror -Wall -ffp-contract=off -I" NBX_SOURCE " -I. -c " + file +
                           " -o " + file + ".o"}});
    };
    for (int i = 0; i < 39; ++i) {
      const std::string number{static_cast<char>('0' + i / 10), static_cast<char>('0' + i % 10)};
      const auto at = special.find(number);
      const std::string row = at != special.end() ? at->second + "\n" : "";
      add("u" + number + ".cpp", "#include \"tests/packs/tiny/row.hpp\"\n#include \"tests/packs/tiny/tiny.hpp\"\n" +
                                     row + "TINY_KERNEL(" + number +
                                     (row.empty() ? ", tiny_plain_row)\n" : ", row)\n"));
      list += "TINY(" + number + ")\n";
    }
    add("tiny.cpp", read_file(fs::path(NBX_SOURCE) / "tests/packs/tiny/tiny.cpp"));
    write("units.h", list);
    write("compile_commands.json", commands.dump(1));
  }

  void write(const std::string& name, const std::string& text) const {
    const fs::path file = folder_ / name;
    if (fs::exists(file) && read_file(file) == text) return;
    ASSERT_EQ(write_file(file, text), "");
  }

  /// Words that bisect from plain -O2 to `bad`, on one problem of each kernel.
  Words words(const json& bad, const std::string& cache = "") {
    json full = bad;
    full["name"] = "planted";
    EXPECT_EQ(write_file(own_.path() / "good.json", R"({"name": "plain"})"), "");
    EXPECT_EQ(write_file(own_.path() / "bad.json", full.dump()), "");
    return {NBX_COMMAND,
            "bisect",
            "--good",
            own_.path() / "good.json",
            "--bad",
            own_.path() / "bad.json",
            "--units",
            folder_ / "compile_commands.json",
            "--cache",
            cache.empty() ? (folder_ / "cache").string() : cache,
            "--json",
            own_.path() / "out.json",
            "*(shape=5x130,axis=-1,uniform)"};
  }

  json found() const { return json::parse(read_file(own_.path() / "out.json")); }

  json bisect(const json& bad, int code = 1) {
    ended_ = call(words(bad));
    EXPECT_EQ(ended_.code, code) << ended_.out << ended_.err;
    return found();
  }

  static std::vector<Words> units_of(const json& found) {
    std::vector<Words> out;
    for (const json& set : found.at("sets")) out.push_back(set.at("units"));
    return out;
  }
  static std::set<std::string> kernels_of(const json& set) {
    std::set<std::string> out;
    for (const json& changed : set.at("changed")) out.insert(changed.at("kernel"));
    return out;
  }

  const fs::path folder_ = fs::path(NBX_TEST_PACKS).parent_path() / "bisect";
  TemporaryFolder own_;
  Ended ended_;
};

TEST_F(Bisect, ThreeOfFortyUnitsByTheirFlagAndFunction) {
  // -O1 makes other code of every unit, and the same bits.
  const json out = bisect(
      {{"cxx_flags", {"-O1"}},
       {"unit_flags", {{"u05.cpp", {"-ffast-math"}}, {"u17.cpp", {"-ffast-math"}}, {"u33.cpp", {"-ffast-math"}}}}});
  EXPECT_THAT(units_of(out), UnorderedElementsAre(Words{"u05.cpp"}, Words{"u17.cpp"}, Words{"u33.cpp"}));
  EXPECT_EQ(out.at("units"), 40);
  EXPECT_EQ(out.at("suspects"), 40);
  EXPECT_LE(out.at("evaluations").get<int>() + out.at("audited").get<int>(), 3 * 6 + 6);
  EXPECT_GE(out.at("audited"), 1);
  EXPECT_THAT(ended_.out, HasSubstr("(one by one: 40; FLiT's published mean: 15)"));
  EXPECT_TRUE(out.at("complete"));
  for (const json& set : out.at("sets")) {
    const std::string number = set.at("units").at(0).get<std::string>().substr(1, 2);
    EXPECT_THAT(kernels_of(set), ElementsAre("tiny.u" + number + ".f32"));
    EXPECT_EQ(set.at("culprit"), "flags");
    EXPECT_EQ(set.at("flags"), json::parse(R"([["-ffast-math"]])"));
    EXPECT_THAT(set.at("parts").at(0).at(1).dump(), HasSubstr("-fassociative-math"));
    const json& evidence = set.at("evidence").at(0);
    EXPECT_THAT(evidence.at("functions").dump(), HasSubstr("tiny_row_" + number + "("));
    EXPECT_EQ(evidence.at("functions").size(), 1U);
    EXPECT_NE(evidence.at("good_code"), evidence.at("bad_code"));
    const json& difference = set.at("difference");
    EXPECT_EQ(difference.at("output"), "y");
    EXPECT_GE(difference.at("ulps"), 1);
    EXPECT_NE(difference.at("good").at("bits"), difference.at("bad").at("bits"));
  }
}

TEST_F(Bisect, TwoFlagsThatOnlyTogetherMerge) {
  const json out = bisect({{"unit_flags", {{"u09.cpp", {"-ffp-contract=fast", "-mfma", "-fno-common"}}}}});
  EXPECT_THAT(units_of(out), ElementsAre(Words{"u09.cpp"}));
  EXPECT_EQ(out.at("sets").at(0).at("flags"), json::parse(R"([["-ffp-contract=fast", "-mfma"]])"));
  EXPECT_THAT(out.at("sets").at(0).at("evidence").at(0).at("instructions"), HasSubstr("more vmovss"));
}

TEST_F(Bisect, TwoUnitsThatChangeBitsOnlyTogether) {
  const json out = bisect({{"cxx_flags", {"-O1", "-DPLANT_PAIR"}}});
  EXPECT_THAT(units_of(out), ElementsAre(Words{"u08.cpp", "u21.cpp"}));
  EXPECT_THAT(kernels_of(out.at("sets").at(0)), ElementsAre("tiny.u08.f32"));
  EXPECT_THAT(ended_.out, HasSubstr("u08.cpp + u21.cpp   only together"));
  EXPECT_EQ(out.at("sets").at(0).at("flags"), json::parse(R"([["-DPLANT_PAIR"]])"));
}

TEST_F(Bisect, AChangeWithinTheBoundIsSeenByBitsAndNotByGates) {
  const json bad{{"unit_flags",
                  {{"u05.cpp", {"-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math"}},
                   {"u36.cpp", {"-DPLANT_WRONG"}}}}};
  const json bits = bisect(bad);
  EXPECT_THAT(units_of(bits), UnorderedElementsAre(Words{"u05.cpp"}, Words{"u36.cpp"}));
  for (const json& set : bits.at("sets")) {
    EXPECT_EQ(set.at("difference").at("within_bound"), set.at("units").at(0) == "u05.cpp");
  }
  Words until_gate = words(bad);
  until_gate.insert(until_gate.end(), {"--until", "gate", "--gate", "1"});
  ended_ = call(until_gate);
  EXPECT_EQ(ended_.code, 1) << ended_.err;
  EXPECT_THAT(units_of(found()), ElementsAre(Words{"u36.cpp"}));
  EXPECT_THAT(found().at("sets").at(0).at("changed").at(0).at("case"), HasSubstr("gate1.reference("));
}

TEST_F(Bisect, EachUnitKeepsItsOwnCopyOfAnInlineFunction) {
  const json out = bisect({{"unit_flags", {{"u03.cpp", {"-ffast-math"}}}}});
  EXPECT_THAT(units_of(out), ElementsAre(Words{"u03.cpp"}));
  EXPECT_THAT(kernels_of(out.at("sets").at(0)), ElementsAre("tiny.u03.f32"));
}

TEST_F(Bisect, ARaceIsNotBlamedOnTheCompiler) {
  const json out = bisect({{"cxx_flags", {"-DPLANT_RACE"}}, {"unit_flags", {{"u05.cpp", {"-ffast-math"}}}}});
  EXPECT_EQ(out.at("unstable"), json::parse(R"(["tiny.u12.f32"])"));
  EXPECT_THAT(units_of(out), ElementsAre(Words{"u05.cpp"}));
  EXPECT_THAT(ended_.out, HasSubstr("tiny.u12.f32 gives other answers from run to run"));
}

TEST_F(Bisect, AUnitThatDoesNotCompileIsSaidAndTheOthersFound) {
  const json out = bisect({{"cxx_flags", {"-DPLANT_ERROR"}}, {"unit_flags", {{"u31.cpp", {"-ffast-math"}}}}});
  EXPECT_THAT(units_of(out), ElementsAre(Words{"u31.cpp"}));
  ASSERT_EQ(out.at("untestable").size(), 1U);
  EXPECT_EQ(out.at("untestable").at(0).at("unit"), "u30.cpp");
  EXPECT_THAT(out.at("untestable").at(0).at("why"), HasSubstr("this compiler does not know the unit"));
  EXPECT_THAT(ended_.out, HasSubstr("BISECT 1 minimal set of units brings the change; 1 unit cannot be tested\n"));
  EXPECT_THAT(ended_.out,
              HasSubstr("u30.cpp cannot be tested: planted does not compile it: g++: u30.cpp:4:2: error: "));
}

TEST_F(Bisect, WhatCannotBeTestedIsNotCalledUnchanged) {
  bisect({{"unit_flags", {{"u30.cpp", {"-DPLANT_ERROR"}}}}}, 3);
  EXPECT_THAT(ended_.out, HasSubstr("BISECT nothing changed in what could be tested; 1 unit cannot be tested\n"));
}

#if defined(NBX_CLANG)
TEST_F(Bisect, AnotherCompilerThatKeepsTheRulesChangesNothing) {
  const json out = bisect({{"cxx", NBX_CLANG}}, 0);
  EXPECT_GT(out.at("suspects"), 30);
  EXPECT_THAT(units_of(out), IsEmpty());
  EXPECT_THAT(ended_.out, HasSubstr("BISECT nothing changed"));
}
#endif

TEST_F(Bisect, KilledHalfWayItGoesOnAndBuildsNothingTwice) {
  const std::string cache = own_.path() / "cache";
  const json bad{{"cxx_flags", {"-O1"}},
                 {"unit_flags", {{"u17.cpp", {"-ffast-math"}}, {"u36.cpp", {"-DPLANT_WRONG"}}}}};
  const auto files = [&](const std::string& kind) {
    std::map<fs::path, fs::file_time_type> out;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(cache, none)) {
      const std::string name = entry.path().filename();
      if (name.starts_with(kind) && name.find(".half") == std::string::npos)
        out[entry.path()] = entry.last_write_time();
    }
    return out;
  };
  {
    Process killed(words(bad, cache), {});
    for (int i = 0; i < 6000 && files("seen-").size() < 4; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    killed.signal(SIGKILL);
    ASSERT_EQ(killed.wait().code, 128 + SIGKILL);
  }
  const auto before = files("");
  const std::size_t verdicts = files("seen-").size();
  ASSERT_GE(verdicts, 4U);
  const Ended again = call(words(bad, cache));
  EXPECT_EQ(again.code, 1) << again.err;
  const json out = found();
  EXPECT_THAT(units_of(out), UnorderedElementsAre(Words{"u17.cpp"}, Words{"u36.cpp"}));
  for (const auto& [file, time] : before) {
    ASSERT_TRUE(fs::exists(file));
    EXPECT_EQ(fs::last_write_time(file), time) << file;
  }
  EXPECT_GE(out.at("recalled"), verdicts);
  // A third time nothing is built and nothing is run, and the answer is the same.
  ASSERT_EQ(call(words(bad, cache)).code, 1);
  json third = found();
  EXPECT_EQ(third.at("built"), 0);
  EXPECT_EQ(third.at("judged"), 0);
  EXPECT_EQ(third.at("sets"), out.at("sets"));
}

TEST_F(Bisect, ADiffOfTheToolchainsNamesEveryChangedKernelAndWhatDoesNotCompile) {
  Words asked = words({{"cxx_flags", {"-DPLANT_ERROR"}},
                       {"unit_flags",
                        {{"u05.cpp", {"-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math"}},
                         {"u36.cpp", {"-DPLANT_WRONG"}}}}});
  asked[1] = "diff";
  asked.erase(asked.begin() + 4);  // --bad, then --good
  asked.erase(asked.begin() + 2);
  const Ended ended = call(asked);
  EXPECT_EQ(ended.code, 1) << ended.err;
  const json out = found();
  EXPECT_THAT(out.at("failed").dump(), HasSubstr("planted does not compile u30.cpp"));
  const json& bits = out.at("bits");
  EXPECT_EQ(bits.at("cases"), 39);
  ASSERT_EQ(bits.at("differing").size(), 2U);
  EXPECT_EQ(bits.at("differing").at(0).at("kernel"), "tiny.u05.f32");
  EXPECT_EQ(bits.at("differing").at(0).at("element").at("within_bound"), true);
  EXPECT_EQ(bits.at("differing").at(1).at("kernel"), "tiny.u36.f32");
  EXPECT_EQ(bits.at("differing").at(1).at("element").at("within_bound"), false);
  EXPECT_FALSE(out.contains("code"));
}

TEST_F(Bisect, ToolchainsThatMakeNoSenseAreRefusedByName) {
  const auto refused = [&](const std::string& text) {
    EXPECT_EQ(write_file(own_.path() / "odd.json", text), "");
    Words asked = words(json::object());
    asked[5] = own_.path() / "odd.json";
    const Ended ended = call(asked);
    EXPECT_EQ(ended.code, 3);
    return ended.err;
  };
  EXPECT_THAT(refused("{"), HasSubstr("content: {; accepted: an object in JSON"));
  EXPECT_THAT(refused(R"({"name": "x", "flags": []})"), HasSubstr("key: flags; accepted: name, cxx, cxx_flags"));
  EXPECT_THAT(refused(R"({"name": "x", "cxx_flags": "-O2"})"), HasSubstr("cxx_flags: \"-O2\"; accepted: a list"));
  EXPECT_THAT(refused(R"({"cxx": "g++"})"), HasSubstr("name: missing"));
  Words unknown = words(json::object());
  unknown[5] = "no-such-compiler-77";
  EXPECT_THAT(call(unknown).err, HasSubstr("toolchain: no-such-compiler-77; accepted: a file that ends in .json"));
}

}  // namespace
}  // namespace nbx::reports
