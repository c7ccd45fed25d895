// Which machine code a device's bits are of: read from a built library, kept in a record, and held against today's.
#include "contracts/code_evidence.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "contracts/codegen/code.hpp"
#include "contracts/codegen/file_text.hpp"
#include "contracts/codegen/pack_code.hpp"
#include "contracts/codegen/process.hpp"
#include "contracts/recorder.hpp"

namespace nbx::testing {
namespace {

using namespace contracts;
using ::testing::Contains;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class CodeEvidence : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_ / "records"); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string error_of(const fs::path& pack) {
    try {
      codegen::pack_code(pack, "sm_90");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_ = fs::path(::testing::TempDir()) / ("code-evidence-" + std::to_string(getpid()));
};

TEST_F(CodeEvidence, StandsInARecordAsItWasWritten) {
  contracts::Record record;
  record.device = "some device";
  record.architecture = "sm_90";
  record.machine_code = {{"a.b.f32", 0xFEDCBA9876543210U}, {"c.d.f16", 1}};
  record.kernels["a.b.f32"]["n=1"]["y"] = {7, {8, 9}};
  write_record(folder_ / "record.json", record);
  const contracts::Record read = read_record(folder_ / "record.json");
  EXPECT_EQ(read.architecture, record.architecture);
  EXPECT_EQ(read.machine_code, record.machine_code);
  EXPECT_EQ(read.kernels, record.kernels);
}

TEST_F(CodeEvidence, ALibraryWithoutDeviceCodeHasNone) {
  EXPECT_TRUE(codegen::pack_code(NBX_CPU_PACK, "sm_90").empty());
  std::ofstream(folder_ / "text.so") << "no library\n";
  EXPECT_THAT(error_of(folder_ / "text.so"), HasSubstr("machine code of pack text.so: it: not an ELF file"));
  EXPECT_THAT(error_of(folder_ / "none.so"), HasSubstr("cannot read"));
}

#if defined(NBX_NVCC)

/// The planted kernel in a unit that is named as the kernel is which the tests record.
class BuiltCode : public CodeEvidence {
 protected:
  static constexpr const char* kernel = "softmax.tile.f32";

  fs::path make(const std::string& name, const std::vector<std::string>& sources,
                const std::vector<std::string>& flags) {
    std::vector<std::string> words{NBX_NVCC, "-Xcompiler=-fPIC", "-o", (folder_ / name).string()};
    if (flags.empty() || !flags.back().starts_with("-gencode")) words.emplace_back("-arch=sm_90");
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), sources.begin(), sources.end());
    const codegen::Ended ended = codegen::run_tool(words);
    EXPECT_EQ(ended.code, 0) << ended.output;
    return folder_ / name;
  }

  std::string source() {
    const fs::path file = folder_ / (std::string(kernel) + ".cu");
    fs::copy_file(NBX_PLANTED, file, fs::copy_options::overwrite_existing);
    return file.string();
  }

  /// A unit with a function that the linker takes from any unit.
  std::string unit_with(const std::string& name, const std::string& number) {
    const fs::path file = folder_ / (name + ".cu");
    std::ofstream(file) << "template <int> __global__ void both(float* x) { *x = *x * " << number << ".0F; }\n"
                        << "void " << name << "() { both<1><<<1, 1>>>(nullptr); }\n";
    return file.string();
  }

  RunResult twin(const contracts::Record& record) {
    write_record(folder_ / "records" / "device.json", record);
    RunOptions options;
    options.packs = {NBX_CPU_PACK, folder_ / "cuda.so"};
    options.records = folder_ / "records";
    options.patterns = {std::string(kernel) + "/gate3.twin(shape=5x2,*"};
    options.jobs = 1;
    return run(options, {}, std::atomic<bool>{false});
  }
};

TEST_F(BuiltCode, IsThatOfTheSameUnitAsACubin) {
  const fs::path cubin = make("cubin", {source()}, {"-cubin"});
  const auto functions = codegen::read_cubin(codegen::file_text(cubin), "cubin");
  ASSERT_EQ(functions.size(), 1U);
  const auto pack = codegen::pack_code(make("cuda.so", {source()}, {"-shared"}), "sm_90");
  EXPECT_EQ(pack, (codegen::PackCode{{kernel, codegen::machine_code(functions)}}));
  EXPECT_EQ(codegen::pack_code(folder_ / "cuda.so", "sm_80"), codegen::PackCode{});
  const auto other = codegen::pack_code(make("cuda.so", {source()}, {"-shared", "-DPLANT=1"}), "sm_90");
  EXPECT_NE(other.at(kernel), pack.at(kernel));
}

/// As flash.wgmma is built: sm_90 and sm_90a have one number in a fat binary, and the driver chooses.
TEST_F(BuiltCode, CountsWithAndWithoutADevicesOwnInstructions) {
  const std::vector<std::string> both{"-shared", "-gencode=arch=compute_90,code=sm_90",
                                      "-gencode=arch=compute_90a,code=sm_90a"};
  const auto one = codegen::pack_code(make("cuda.so", {source()}, {"-shared"}), "sm_90");
  EXPECT_EQ(codegen::pack_code(make("cuda.so", {source()}, both), "sm_90"), one);

  const auto unit_adding = [&](const char* to_sm_90a) {
    const fs::path file = folder_ / "unit.cu";
    std::ofstream(file) << "#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n#define ADDEND " << to_sm_90a
                        << "\n#else\n#define ADDEND 1.0F\n#endif\n"
                        << "__global__ void add(float* x) { *x += ADDEND; }\n"
                        << "void unit() { add<<<1, 1>>>(nullptr); }\n";
    return codegen::pack_code(make("cuda.so", {file.string()}, both), "sm_90").at("unit");
  };
  EXPECT_EQ(unit_adding("2.0F"), unit_adding("2.0F"));
  EXPECT_NE(unit_adding("2.0F"), unit_adding("3.0F"));
}

TEST_F(BuiltCode, IsRefusedWhereItCannotBeTold) {
  EXPECT_THAT(error_of(make("cuda.so", {source()}, {"-shared", "-Xlinker=--strip-all"})), HasSubstr("it is stripped"));
  EXPECT_THAT(error_of(make("cuda.so", {source()}, {"-shared", "-Xfatbin=-compress-all"})), HasSubstr("is compressed"));
  const std::string one = unit_with("one", "2");
  EXPECT_EQ(codegen::pack_code(make("cuda.so", {one, unit_with("same", "2")}, {"-shared"}), "sm_90").size(), 2U);
  EXPECT_THAT(error_of(make("cuda.so", {one, unit_with("other", "3")}, {"-shared"})),
              HasSubstr("one and other hold other code of"));
}

TEST_F(BuiltCode, MakesEvidenceOfOtherCodeStale) {
  RunOptions options;
  options.packs = {NBX_CPU_PACK};
  options.patterns = {std::string(kernel) + "/gate3.twin(shape=5x2,*"};
  contracts::Record record = contracts::record(options, std::atomic<bool>{false}).record;
  ASSERT_FALSE(record.kernels.at(kernel).empty());
  EXPECT_TRUE(record.machine_code.empty());  // the host's is not read
  record.device = "some device";

  make("cuda.so", {source()}, {"-shared"});
  RunResult result = twin(record);
  EXPECT_GT(result.cases_run, 0);
  EXPECT_TRUE(result.cases.empty() || result.cases[0].state == State::pass);
  EXPECT_THAT(result.notes, Contains(HasSubstr("names no machine code")));

  record.architecture = "sm_90";
  record.machine_code = codegen::pack_code(folder_ / "cuda.so", "sm_90");
  result = twin(record);
  EXPECT_GT(result.cases_run, 0);
  for (const CaseResult& one : result.cases) EXPECT_EQ(one.state, State::pass) << one.name();
  EXPECT_THAT(result.notes, ::testing::Not(Contains(HasSubstr("record of"))));

  make("cuda.so", {source()}, {"-shared", "-DPLANT=1"});
  result = twin(record);
  std::int64_t stale = 0;
  for (const CaseResult& one : result.cases) stale += one.state == State::stale;
  EXPECT_GT(stale, 0);
  EXPECT_EQ(stale, result.cases_run);
  EXPECT_THAT(result.notes, Contains(HasSubstr("1 of 1 kernels have other machine code today (softmax.tile.f32)")));

  // Other bits are red whatever the code.
  for (auto& [problem, outputs] : record.kernels.at(kernel)) outputs.begin()->second.whole ^= 1;
  result = twin(record);
  ASSERT_FALSE(result.cases.empty());
  for (const CaseResult& one : result.cases) EXPECT_EQ(one.state, State::red) << one.name();

  fs::remove(folder_ / "cuda.so");
  std::ofstream(folder_ / "cuda.so") << "no library\n";
  EXPECT_THAT(twin(record).notes, Contains(HasSubstr("machine code of pack cuda.so: it: not an ELF file")));
}

#endif

}  // namespace
}  // namespace nbx::testing
