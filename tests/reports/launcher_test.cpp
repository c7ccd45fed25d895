// The launcher in a tree of its own, with programs in place of cmake, ctest, apt-get and the command that only say how
// they were called.
#include <gmock/gmock.h>

#include <filesystem>

#include "process.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Launcher : public testing::Test {
 protected:
  Launcher() {
    fs::create_directories(root_.path() / "bin");
    fs::create_directories(root_.path() / "tree" / "sub");
    fs::copy_file(fs::path(NBX_SOURCE) / "nbx-contract", launcher());
    for (const char* tool : {"bash", "dirname", "readlink", "mktemp", "cat", "rm", "sed", "mkdir", "flock", "sort",
                             "comm", "paste", "id", "nproc", "env", "touch"}) {
      for (const char* folder : {"/usr/bin", "/bin"}) {
        if (fs::exists(fs::path(folder) / tool) && !fs::exists(bin(tool))) {
          fs::create_symlink(fs::path(folder) / tool, bin(tool));
        }
      }
    }
    program("g++", "");
    program("ninja", "");
    program("objcopy", "");
    program("nvcc", "");
    // Configuring makes what a configured tree has; building makes the command.
    program("cmake", "echo \"cmake $*\" >> " + log().string() +
                         "\n"
                         "case $1 in\n"
                         "  -S) echo CMAKE_HOME_DIRECTORY:INTERNAL=$2 > $2/build/default/CMakeCache.txt;\n"
                         "      touch $2/build/default/build.ninja;;\n"
                         "esac\n");
    program("ctest", "echo \"ctest $*\" >> " + log().string() + "\n");
    program("dpkg-query", "shift 3; for p in \"$@\"; do echo \"installed $p\"; done\n");
    fs::create_directories(root_.path() / "tree" / "build" / "default");
    command("echo \"command $* in $PWD\"\n");
  }

  fs::path launcher() const { return root_.path() / "tree" / "nbx-contract"; }
  fs::path bin(const std::string& name) const { return root_.path() / "bin" / name; }
  fs::path log() const { return root_.path() / "log"; }

  void executable(const fs::path& file, const std::string& body) {
    ASSERT_EQ(write_file(file, "#!/bin/bash\n" + body), "");
    fs::permissions(file, fs::perms::owner_all);
  }
  void program(const std::string& name, const std::string& body) { executable(bin(name), body); }
  void command(const std::string& body) { executable(root_.path() / "tree/build/default/nbx-contract", body); }

  Ended launch(std::vector<std::string> words) {
    words.insert(words.begin(), {"/bin/bash", launcher().string()});
    // Later variables of the same name do not count for bash.
    return call({"/usr/bin/env", "-i", "PATH=" + (root_.path() / "bin").string(), words[0], words[1],
                 words.size() > 2 ? words[2] : "", words.size() > 3 ? words[3] : ""});
  }

  TemporaryFolder root_;
};

TEST_F(Launcher, ConfiguresOnceBuildsAndRuns) {
  const Ended first = launch({"run", "--summary"});
  EXPECT_EQ(first.code, 0);
  EXPECT_THAT(first.out, HasSubstr("command run --summary in "));
  EXPECT_THAT(first.err, HasSubstr("configuring"));
  const Ended second = launch({"run", "--summary"});
  EXPECT_EQ(second.code, 0);
  EXPECT_EQ(second.err, "");  // nothing to do, nothing to say
  const std::string tree = (root_.path() / "tree").string();
  EXPECT_EQ(read_file(log()), "cmake -S " + tree + " --preset default --fresh\n" +  //
                                  "cmake --build " + tree + "/build/default --target command\n" + "cmake --build " +
                                  tree + "/build/default --target command\n");
}

TEST_F(Launcher, TestBuildsAllAndRunsCtest) {
  EXPECT_EQ(launch({"test", "-R"}).code, 0);
  const std::string said = read_file(log());
  EXPECT_THAT(said, HasSubstr("--target all\n"));
  EXPECT_THAT(said, HasSubstr("ctest --test-dir " + (root_.path() / "tree/build/default").string()));
  EXPECT_THAT(said, HasSubstr("--output-on-failure --no-tests=error -R"));
}

TEST_F(Launcher, ShowsWhatAFailedStepSaid) {
  program("cmake", "echo '[1/9] Building'; echo 'CMake Error: no compiler'; exit 1\n");
  const Ended ended = launch({"run"});
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("CMake Error: no compiler\nnbx-contract: configuration failed\n"));
  EXPECT_THAT(ended.err, Not(HasSubstr("[1/9]")));
}

TEST_F(Launcher, UnderBisectAFailedStepIs125) {
  program("cmake", "exit 1\n");
  EXPECT_EQ(launch({"run", "--bisect-exit"}).code, 125);
  EXPECT_EQ(launch({"test", "--bisect-exit"}).code, 125);
}

TEST_F(Launcher, PassesTheCodeOfTheCommandOn) {
  for (const int code : {0, 1, 2, 3, 4, 130}) {
    command("exit " + std::to_string(code) + "\n");
    EXPECT_EQ(launch({"run"}).code, code);
  }
}

TEST_F(Launcher, UnderBisectOnlyRedIsOne) {
  for (const int code : {2, 3, 4, 130}) {
    command("exit " + std::to_string(code) + "\n");
    EXPECT_EQ(launch({"run", "--bisect-exit"}).code, 125) << code;
  }
  command("exit 1\n");
  EXPECT_EQ(launch({"run", "--bisect-exit"}).code, 1);
  command("exit 0\n");
  EXPECT_EQ(launch({"run", "--bisect-exit"}).code, 0);
  command("kill -SEGV $$\n");
  EXPECT_EQ(launch({"run", "--bisect-exit"}).code, 125);
  program("ctest", "exit 8\n");
  EXPECT_EQ(launch({"test", "--bisect-exit"}).code, 1);
}

TEST_F(Launcher, NamesMissingPackagesWhereItCannotInstallThem) {
  program("dpkg-query", "shift 3; for p in \"$@\"; do [ $p = libfmt-dev ] || echo \"installed $p\"; done; exit 1\n");
  const Ended without = launch({"run"});
  EXPECT_EQ(without.code, 3);
  EXPECT_THAT(without.err, HasSubstr("there is no apt-get to install them: libfmt-dev\n"));
  program("apt-get", "echo 'no network'; exit 100\n");
  program("id", "echo 0\n");
  const Ended failed = launch({"run"});
  EXPECT_EQ(failed.code, 3);
  EXPECT_THAT(failed.err, HasSubstr("no network\n"));
  EXPECT_THAT(failed.err, HasSubstr("libfmt-dev"));
  EXPECT_THAT(failed.out, Not(HasSubstr("command")));
}

TEST_F(Launcher, InstallsOnlyWhatIsMissing) {
  program("dpkg-query", "shift 3; for p in \"$@\"; do [ $p = libfmt-dev ] || echo \"installed $p\"; done; exit 1\n");
  program("apt-get", "echo \"apt-get $*\" >> " + log().string() + "\n");
  program("id", "echo 0\n");
  EXPECT_EQ(launch({"run"}).code, 0);
  EXPECT_THAT(read_file(log()), HasSubstr("apt-get update\napt-get install -y --no-install-recommends libfmt-dev\n"));
}

TEST_F(Launcher, TestsNeedMpiAndTheTreeLearnsOfIt) {
  program("apt-get", "echo \"apt-get $*\" >> " + log().string() + "\n");
  program("id", "echo 0\n");
  ASSERT_EQ(launch({"run"}).code, 0);
  program("dpkg-query",
          "shift 3; for p in \"$@\"; do case $p in *openmpi*) ;; *) echo \"installed $p\";; esac; done\n");
  ASSERT_EQ(launch({"run"}).code, 0);
  EXPECT_THAT(read_file(log()), Not(HasSubstr("apt-get"))) << "the command alone needs none";
  ASSERT_EQ(launch({"test"}).code, 0);
  EXPECT_THAT(
      read_file(log()),
      testing::ContainsRegex("apt-get install -y --no-install-recommends libopenmpi-dev openmpi-bin\ncmake -S "));
}

TEST_F(Launcher, ConfiguresAgainWhereTheTreeWasMoved) {
  ASSERT_EQ(launch({"run"}).code, 0);
  fs::rename(root_.path() / "tree", root_.path() / "moved");
  const Ended moved = call({"/usr/bin/env", "-i", "PATH=" + (root_.path() / "bin").string(), "/bin/bash",
                            (root_.path() / "moved" / "nbx-contract").string(), "run"});
  EXPECT_EQ(moved.code, 0);
  EXPECT_THAT(moved.err, HasSubstr("configuring"));
}

}  // namespace
}  // namespace nbx::reports
