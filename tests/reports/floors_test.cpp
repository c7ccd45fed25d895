// The check of the floors, on trees with one breach each.
#include <gmock/gmock.h>

#include <filesystem>

#include "process.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;

Ended check(const std::string& file, const std::string& line) {
  TemporaryFolder root;
  fs::create_directories((root.path() / file).parent_path());
  EXPECT_EQ(write_file(root.path() / file, line + "\n"), "");
  return call({NBX_SOURCE "/tests/floors.sh", root.path().string()});
}

TEST(Floors, RefuseWhatTheTableDoesNotAllow) {
  const std::vector<std::pair<std::string, std::string>> breaches{
      {"oracle/a.cpp", "#include \"kernels/tile/number.hpp\""},
      {"oracle/a.hpp", "  #  include <kernels/tile/number.hpp>"},
      {"oracle/a.cpp", "#include \"contracts/call.hpp\""},
      {"kernels/tile/a.cuh", "#include \"oracle/format.hpp\""},
      {"kernels/a.cu", "#include \"contracts/call.hpp\""},
      {"contracts/a.cpp", "#include \"kernels/tile/number.hpp\""},
      {"contracts/a.cpp", "#include \"kernels/pack/nbx_pack.hpp\""},
      {"contracts/a.cpp", "#include \"reports/json.hpp\""},
      {"controls/a.cpp", "#include \"oracle/format.hpp\""},
      {"controls/a.cpp", "#include \"reports/json.hpp\""},
      {"reports/a.cpp", "#include \"kernels/tile/number.hpp\""},
      {"reports/a.cpp", "#include \"tests/reports/sample.hpp\""},
      {"oracle/a.cpp", "#include \"../kernels/tile/number.hpp\""},
      {"oracle/a.cpp", "#include NBX_HEADER"},
  };
  for (const auto& [file, line] : breaches) {
    const Ended ended = check(file, line);
    EXPECT_EQ(ended.code, 1) << file << ": " << line;
    EXPECT_THAT(ended.out, testing::HasSubstr(file + ":1: ")) << line;
  }
}

TEST(Floors, AllowWhatTheTableAllows) {
  const std::vector<std::pair<std::string, std::string>> allowed{
      {"oracle/a.cpp", "#include \"oracle/format.hpp\""},
      {"oracle/a.cpp", "#include <Eigen/Core>"},
      {"kernels/pack/nbx_pack.h", "#include \"dlpack.h\""},
      {"contracts/a.cpp", "#include \"kernels/pack/nbx_pack.h\""},
      {"contracts/a.cpp", "#include \"oracle/format.hpp\""},
      {"controls/a.cpp", "#include \"kernels/tile/number.hpp\""},
      {"reports/a.cpp", "#include \"contracts/call.hpp\""},
      {"tests/a.cpp", "#include \"kernels/tile/number.hpp\""},
  };
  for (const auto& [file, line] : allowed) EXPECT_EQ(check(file, line).code, 0) << file << ": " << line;
}

TEST(Floors, AnEmptyTreeIsNotFine) {
  TemporaryFolder root;
  EXPECT_EQ(call({NBX_SOURCE "/tests/floors.sh", root.path().string()}).code, 1);
}

}  // namespace
}  // namespace nbx::reports
