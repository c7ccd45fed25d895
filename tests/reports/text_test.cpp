#include "reports/text.hpp"

#include <gmock/gmock.h>

#include <limits>

namespace nbx::reports {
namespace {

TEST(Text, GroupsDigitsByThrees) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(66'560), "66,560");
  EXPECT_EQ(grouped(-1'234'567), "-1,234,567");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Text, CountsWithTheRightNumber) {
  EXPECT_EQ(counted(1, "case"), "1 case");
  EXPECT_EQ(counted(0, "case"), "0 cases");
  EXPECT_EQ(counted(1'200, "case"), "1,200 cases");
}

TEST(Text, WritesSharesToTwoDigits) {
  EXPECT_EQ(share_text(0), "0");
  EXPECT_EQ(share_text(0.314), "0.31");
  EXPECT_EQ(share_text(1), "1.0");
  EXPECT_EQ(share_text(5400.25), "5,400");
  EXPECT_EQ(share_text(0.0041), "0.0041");
  EXPECT_EQ(share_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(share_text(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(share_text(1e300), "9,000,000,000,000,000,000");
}

TEST(Text, WritesDurations) {
  EXPECT_EQ(duration(0.44), "0.4 s");
  EXPECT_EQ(duration(599.9), "599.9 s");
  EXPECT_EQ(duration(725), "12 min 5 s");
}

TEST(Text, PadsAndClipsByCodePoints) {
  EXPECT_EQ(left("×", 3), "×  ");
  EXPECT_EQ(right("×", 3), "  ×");
  EXPECT_EQ(clipped("±±±±", 4), "±±±±");
  EXPECT_EQ(clipped("±±±±", 3), "±±…");
  EXPECT_EQ(clipped("abc", 0), "");
}

TEST(Text, ClipsACaseFromTheStartOfItsProblem) {
  const std::string name = "gate1.reference(B=1,H=4,Tq=130,sink)";
  EXPECT_EQ(clipped_case(name, 36), name);
  EXPECT_EQ(clipped_case(name, 35), "gate1.reference(…,H=4,Tq=130,sink)");
  EXPECT_EQ(clipped_case(name, 25), "gate1.reference(…,sink)");
  EXPECT_EQ(clipped_case(name, 20), "gate1.reference(…)");
  EXPECT_EQ(clipped_case(name, 10), "gate1.ref…");
}

TEST(Text, WrapsAtBlanks) {
  using testing::ElementsAre;
  EXPECT_THAT(wrapped("", 5), ElementsAre(""));
  EXPECT_THAT(wrapped("a ± c", 5), ElementsAre("a ± c"));
  EXPECT_THAT(wrapped("a ± c d", 5), ElementsAre("a ± c", "d"));
  EXPECT_THAT(wrapped("aa bb cc", 4), ElementsAre("aa", "bb", "cc"));
  EXPECT_THAT(wrapped("a longer_word b", 4), ElementsAre("a", "longer_word", "b"));
  EXPECT_THAT(wrapped("longer_word", 4), ElementsAre("longer_word"));
}

TEST(Text, QuotesForTheShell) {
  EXPECT_EQ(shell_word("flash.simt.f32"), "flash.simt.f32");
  EXPECT_EQ(shell_word("a(b)"), "'a(b)'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Text, ReplacesWhatIsNoText) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(printable("a\tb\n±×…😀"), "a\tb\n±×…😀");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a" + bad + "b");
  EXPECT_EQ(printable("\x1b[31m"), bad + "[31m");
  EXPECT_EQ(printable("\xC3"), bad);                                // cut short
  EXPECT_EQ(printable("\xC0\xAF"), bad + bad);                      // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), bad + bad + bad);            // a surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // past U+10FFFF
  EXPECT_EQ(printable("\xEF\xBF\xBE"), bad);                        // U+FFFE
  EXPECT_EQ(printable("\xFF!"), bad + "!");
}

}  // namespace
}  // namespace nbx::reports
