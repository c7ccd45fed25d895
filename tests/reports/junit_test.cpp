#include "reports/junit.hpp"

#include <gmock/gmock.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <sstream>

#include "sample.hpp"

namespace nbx::reports {
namespace {

using boost::property_tree::ptree;
using testing::HasSubstr;

ptree parsed(const Report& report) {
  std::istringstream text(to_junit(report));
  ptree tree;
  boost::property_tree::read_xml(text, tree);  // throws where it is not well-formed
  return tree;
}

int attribute(const ptree& element, const char* name) { return element.get<int>(std::string("<xmlattr>.") + name); }

TEST(Junit, CountsWhatItLists) {
  const ptree tree = parsed(sample::report(sample::everything()));
  const ptree& suites = tree.get_child("testsuites");
  int tests = 0, failures = 0, skipped = 0;
  for (const auto& [name, suite] : suites) {
    if (name != "testsuite") continue;
    int own = 0;
    for (const auto& [kind, testcase] : suite) {
      if (kind != "testcase") continue;
      ++own;
      failures += static_cast<int>(testcase.count("failure"));
      skipped += static_cast<int>(testcase.count("skipped"));
    }
    EXPECT_EQ(attribute(suite, "tests"), own);
    tests += own;
  }
  EXPECT_EQ(attribute(suites, "tests"), tests);
  EXPECT_EQ(attribute(suites, "failures"), failures);
  EXPECT_EQ(attribute(suites, "skipped"), skipped);
  EXPECT_EQ(failures, 5);
  EXPECT_EQ(skipped, 4);
}

TEST(Junit, SaysWhyACaseWasSkipped) {
  const std::string text = to_junit(sample::report(sample::everything()));
  EXPECT_THAT(text, HasSubstr("<skipped message=\"declined: a row of 5,000 features; the tile holds 4,096\"/>"));
  EXPECT_THAT(text, HasSubstr("<skipped message=\"pending: no H200 record of this problem\"/>"));
  EXPECT_THAT(text, HasSubstr("<skipped message=\"stale: the record is older than the build\"/>"));
}

TEST(Junit, UnderStrictSkippedCasesFail) {
  Report report = sample::report(sample::everything());
  report.strict = true;
  EXPECT_THAT(to_junit(report), HasSubstr("<failure message=\"pending: no H200 record of this problem (red under "));
}

TEST(Junit, KeepsMarkupAndLinesOfNamesAndMessages) {
  Report report = sample::report(sample::everything());
  const std::string odd = "a<b>&\"quoted\" 'x' ]]> --> ±\nnext";
  report.result.cases[0].problem = odd;
  report.result.cases[0].red->lines = {{"wrong", odd}};
  const ptree tree = parsed(report);
  const ptree& testcase = tree.get_child("testsuites.testsuite.testcase");
  EXPECT_EQ(testcase.get<std::string>("<xmlattr>.name"), report.result.cases[0].name());
  EXPECT_EQ(testcase.get<std::string>("failure.<xmlattr>.message"), "wrong " + odd);
  EXPECT_THAT(testcase.get<std::string>("failure"), HasSubstr(odd));
}

TEST(Junit, HoldsNoByteThatXmlCannot) {
  Report report = sample::report(sample::everything());
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  report.result.cases[0].problem = bytes;
  const std::string text = to_junit(report);
  for (const char c : text) {
    EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << static_cast<int>(c);
  }
  // The 128 bytes from 0x80 on start or continue no code point in this order, so each is replaced.
  EXPECT_EQ(xml_text(bytes.substr(0x80)).size(), 128U * 3);
}

}  // namespace
}  // namespace nbx::reports
