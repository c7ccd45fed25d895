// A real `git bisect run` with the launcher and the command, over a history of a pack that is made here.
#include <gmock/gmock.h>

#include <filesystem>

#include "process.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class GitBisect : public testing::Test {
 protected:
  GitBisect() {
    fs::copy_file(fs::path(NBX_SOURCE) / "nbx-contract", tree() / "nbx-contract");
    write("CMakePresets.json", R"({"version": 6, "configurePresets": [
      {"name": "default", "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}"}]})");
    // In place of the whole project: one pack, and the command as it was built already.
    write("CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.25)
project(history LANGUAGES CXX)
add_library(cpu MODULE pack.cpp)
target_include_directories(cpu PRIVATE ")" NBX_SOURCE R"(")
target_compile_features(cpu PRIVATE cxx_std_20)
set_target_properties(cpu PROPERTIES PREFIX "" SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/packs")
add_custom_target(command COMMAND ${CMAKE_COMMAND} -E copy_if_different ")" NBX_COMMAND
                            R"(" "${PROJECT_BINARY_DIR}/nbx-contract" DEPENDS cpu)
)");
    write(".gitignore", "build/\n");
    git({"init", "--quiet", "--initial-branch=main"});
  }

  fs::path tree() const { return root_.path(); }
  void write(const std::string& name, const std::string& text) { ASSERT_EQ(write_file(tree() / name, text), ""); }

  Ended git(std::vector<std::string> words) {
    words.insert(words.begin(),
                 {"/usr/bin/git", "-C", tree(), "-c", "user.name=test", "-c", "user.email=test@localhost"});
    return call(words, {"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"});
  }

  /// A commit whose pack has `plant` in front; returns its name.
  std::string commit(const std::string& message, const std::string& plant) {
    write("pack.cpp", "// " + message + "\n" + plant + "\n#include \"tests/packs/user_softmax.cpp\"\n");
    git({"add", "--all"});
    EXPECT_EQ(git({"commit", "--quiet", "--message", message}).code, 0);
    std::string name = git({"rev-parse", "HEAD"}).out;
    return name.substr(0, name.find('\n'));
  }

  TemporaryFolder root_;
};

TEST_F(GitBisect, LandsOnTheCommitWhoseKernelCrashesAndSkipsTheOneThatDoesNotBuild) {
  const std::string right;
  const std::string crashes = "#define USER_SOFTMAX_SUMMED(columns) (__builtin_trap(), (columns))";
  const std::string wrong = "#define USER_SOFTMAX_SUMMED(columns) ((columns) - 1)";
  const std::string first = commit("first", right);
  for (const char* message : {"second", "third", "fourth"}) commit(message, right);
  const std::string broken = commit("does not build", "#error half done");
  commit("sixth", right);
  const std::string culprit = commit("crashes", crashes);
  commit("gives wrong answers instead", wrong);
  commit("last", wrong);

  ASSERT_EQ(git({"bisect", "start", "HEAD", first}).code, 0);
  const Ended run =
      git({"bisect", "run", "./nbx-contract", "run", "--bisect-exit", "--quick", "--gate", "1", "user_softmax"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr(culprit + " is the first bad commit"));
  const std::string log = git({"bisect", "log"}).out;
  EXPECT_THAT(log, HasSubstr("git bisect skip " + broken));
  EXPECT_THAT(log, HasSubstr("git bisect bad " + culprit));
}

}  // namespace
}  // namespace nbx::reports
