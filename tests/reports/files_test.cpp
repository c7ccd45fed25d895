// Files that the command writes: reports, and what --last-failed remembers.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "process.hpp"
#include "reports/last_run.hpp"
#include "reports/write_file.hpp"
#include "sample.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  TemporaryFolder own_;
  const fs::path folder_ = own_.path();
};

TEST_F(Files, AreWrittenWhole) {
  EXPECT_EQ(write_file(folder_ / "a", "first"), "");
  EXPECT_EQ(write_file(folder_ / "a", "second, longer"), "");
  EXPECT_EQ(write_file(folder_ / "a", "third"), "");
  EXPECT_EQ(read_file(folder_ / "a"), "third");
  EXPECT_EQ(entries(), 1U);  // no temporary file stays
}

TEST_F(Files, AreReplacedAndNotWrittenInto) {
  ASSERT_EQ(write_file(folder_ / "a", "old"), "");
  std::ifstream reader(folder_ / "a");  // whoever has the old one open keeps it whole
  ASSERT_EQ(write_file(folder_ / "a", "new"), "");
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");
}

TEST_F(Files, SayWhyTheyCannotBeWritten) {
  EXPECT_THAT(write_file(folder_ / "no" / "a", "x"), HasSubstr("its folder does not exist"));
  EXPECT_THAT(write_file(folder_, "x"), HasSubstr("it is a folder"));
  EXPECT_THAT(write_file("/proc/nbx_report", "x"), HasSubstr("cannot write /proc/nbx_report: "));
  EXPECT_THAT(write_file("/dev/full", "x"), HasSubstr("No space left"));
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Files, StayAsTheyWereWhereTheNewOneDoesNotFit) {
  ASSERT_EQ(write_file(folder_ / "a", "old"), "");
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{8, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string why = write_file(folder_ / "a", "new, and longer than eight bytes");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, before);
  EXPECT_THAT(why, HasSubstr("File too large"));
  EXPECT_EQ(read_file(folder_ / "a"), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, BehindLinksAreReplacedAndDevicesStay) {
  ASSERT_EQ(write_file(folder_ / "target", "old"), "");
  fs::create_symlink("target", folder_ / "link");
  EXPECT_EQ(write_file(folder_ / "link", "new"), "");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_file(folder_ / "target"), "new");
  EXPECT_EQ(write_file("/dev/null", "x"), "");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Files, SayWhyTheyCannotBeRead) {
  EXPECT_THAT([&] { read_file(folder_ / "none"); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("No such file")));
  EXPECT_THAT([&] { read_file(folder_); }, testing::ThrowsMessage<std::runtime_error>(HasSubstr("folder")));
}

TEST_F(Files, RememberTheRedCasesOfTheLastRun) {
  contracts::RunResult result = sample::everything();
  result.seed = 7;
  const fs::path file = folder_ / "last-run.json";
  EXPECT_THAT([&] { recall(file); }, testing::ThrowsMessage<std::runtime_error>(HasSubstr("no run before")));
  EXPECT_EQ(remember(file, last_run(result, {"/a/./mine.so"})), "");
  const LastRun last = recall(file);
  EXPECT_THAT(last.red, ElementsAre(sample::red_case().name()));
  EXPECT_EQ(last.seed, 7U);
  EXPECT_EQ(last.tier, "default");
  EXPECT_THAT(last.packs, ElementsAre("/a/mine.so"));
  ASSERT_EQ(write_file(file, "{\"red\": 1}"), "");
  EXPECT_THAT([&] { recall(file); }, testing::ThrowsMessage<std::runtime_error>(HasSubstr("last-run.json")));
}

TEST(LastRun, IsReplacedOnlyByARunThatSaysSomething) {
  contracts::RunResult result = sample::green();
  EXPECT_TRUE(worth_remembering(result));
  result.interrupted = true;
  EXPECT_FALSE(worth_remembering(result));
  result.cases = {sample::red_case()};
  EXPECT_TRUE(worth_remembering(result));
  EXPECT_FALSE(worth_remembering({}));
}

}  // namespace
}  // namespace nbx::reports
