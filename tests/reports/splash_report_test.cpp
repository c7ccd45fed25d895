// nbx-contract splash-report: on generated calls, and on a user's own from files.
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "process.hpp"

namespace nbx::reports {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
namespace fs = std::filesystem;

/// A tensor of a .safetensors file.
struct Stored {
  std::string name, dtype, shape;  // "F32", "[1,1,1,128]"
  std::vector<float> values;
};

void write_safetensors(const fs::path& file, const std::vector<Stored>& tensors, std::size_t cut = 0) {
  std::string header = "{\"__metadata__\":{\"from\":\"a test\"}", data;
  for (const Stored& tensor : tensors) {
    const std::size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(float));
    header += ",\"" + tensor.name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":" + tensor.shape +
              ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
  }
  header += "}";
  std::ofstream out(file, std::ios::binary);
  const std::uint64_t length = header.size();
  for (int i = 0; i < 8; ++i) out.put(static_cast<char>(length >> (8 * i) & 0xFF));
  out << header << data.substr(0, data.size() - cut);
}

/// N = 4,096, D = 8: q = (231, 2, 0, …), half the keys (0, 1, 0, …), half (0, −1, 0, …).
std::vector<Stored> adversarial() {
  constexpr std::size_t keys = 4096, dim = 8;
  std::vector<float> q(dim, 0), k(keys * dim, 0), v(keys, 0);
  q[0] = 231, q[1] = 2;
  for (std::size_t j = 0; j < keys; ++j) k[j * dim + 1] = v[j] = j % 2 == 0 ? 1.0F : -1.0F;
  return {{"q", "F32", "[1,1,1,8]", q}, {"k", "F32", "[1,1,4096,8]", k}, {"v", "F32", "[1,1,4096,1]", v}};
}

class SplashReport : public testing::Test {
 protected:
  Ended report(const std::vector<std::string>& words) {
    std::vector<std::string> all{NBX_COMMAND, "splash-report"};
    all.insert(all.end(), words.begin(), words.end());
    return call(all);
  }
  /// Of one file.
  Ended report_of(const std::vector<Stored>& tensors, const std::vector<std::string>& words = {}, std::size_t cut = 0) {
    write_safetensors(file("call"), tensors, cut);
    std::vector<std::string> all{file("call").string()};
    all.insert(all.end(), words.begin(), words.end());
    return report(all);
  }
  fs::path file(const std::string& name) const { return folder_.path() / (name + ".safetensors"); }

  TemporaryFolder folder_;
};

TEST_F(SplashReport, SetsGatesSideBySideOnGeneratedCalls) {
  const std::vector<std::string> words{"--calls", "3",  "--heads",   "4", "--queries",     "16",    "--keys",   "64",
                                       "--dim",   "16", "--block-q", "8", "--window-keys", "75600", "--median", "60"};
  const Ended ended = report(words);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("N = 75600 keys, |v| <= 256: C 102, W 227; flush-to-zero off"));
  EXPECT_THAT(ended.out, HasSubstr("U log-normal over heads, median 60, standard deviation of ln U 0.45; seed 1"));
  EXPECT_THAT(ended.out, HasSubstr("24 entries (batch, head, block of 8 rows) in 3 calls"));
  for (const char* row : {"floor.W/2. +113 ", "C . 116 - ceil.log2 N. +201 ", "C . 116 +218 ", "W +227 "}) {
    EXPECT_THAT(ended.out, ContainsRegex(row));
  }
  EXPECT_EQ(report(words).out, ended.out);
}

TEST_F(SplashReport, MeasuresWhatAWiderGateLosesOnAUsersCall) {
  const Ended flushed = report_of(adversarial(), {"--ftz"});
  ASSERT_EQ(flushed.code, 0) << flushed.err;
  EXPECT_THAT(flushed.out, ContainsRegex("floor.W/2. +116 +100.00 % +1 +0 +0 +0 +always"));
  EXPECT_THAT(flushed.out, ContainsRegex("\nW +232 +0.00 % +0 +about 1/2 +0.0588 ")) << "1/17 of the mass";
  const Ended kept = report_of(adversarial());
  EXPECT_THAT(kept.out, ContainsRegex("\nW +232 +0.00 % +0 +about 1/2 +0 ")) << "subnormal weights are kept";
}

TEST_F(SplashReport, RefusesWhatIsNoCall) {
  const auto refused = [](const Ended& ended, const std::string& words) {
    EXPECT_EQ(ended.code, 2) << words;
    EXPECT_THAT(ended.err, HasSubstr(words));
  };
  refused(report({(folder_.path() / "none").string()}), "cannot be read as .safetensors");
  std::vector<Stored> wrong = adversarial();
  wrong.pop_back();
  refused(report_of(wrong), "tensor v: missing");
  wrong = adversarial();
  wrong[0].dtype = "I32";
  refused(report_of(wrong), "tensor q: format I32; accepted: F32, F16, BF16");
  wrong = adversarial();
  wrong[1].shape = "[1,4096,8]";
  refused(report_of(wrong), "tensor k: 3 axes; accepted: 4");
  wrong = adversarial();
  wrong[1].shape = "[1,1,4095,8]";
  refused(report_of(wrong), "tensor k: its data_offsets do not span");
  wrong = adversarial();
  wrong[0].shape = "[1,2,1,4]";
  refused(report_of(wrong), "q, k and v are no attention");
  refused(report_of(adversarial(), {}, 4), "tensor v: the file ends within its data");
  refused(report({"--calls", "0"}), "--calls");
  std::ofstream(file("text")) << "eight bytes and more, none of them a header";
  EXPECT_EQ(report({file("text").string()}).code, 2);
}

TEST_F(SplashReport, CallsOfOtherLengthsHaveOtherWindows) {
  write_safetensors(file("long"), adversarial());
  std::vector<Stored> fewer = adversarial();
  fewer[1].shape = "[1,1,2,8]", fewer[1].values.resize(16);
  fewer[2].shape = "[1,1,2,1]", fewer[2].values.resize(2);
  write_safetensors(file("short"), fewer);
  const Ended apart = report({file("long").string(), file("short").string()});
  EXPECT_EQ(apart.code, 2);
  EXPECT_THAT(apart.err, HasSubstr("calls of 4096 and 2 keys have windows of their own"));
  const Ended together = report({file("long").string(), file("short").string(), "--window-keys", "4096"});
  EXPECT_EQ(together.code, 0) << together.err;
  EXPECT_THAT(together.out, HasSubstr("2 entries (batch, head, block of 64 rows) in 2 calls"));
}

}  // namespace
}  // namespace nbx::reports
