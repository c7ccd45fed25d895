// The search of the bisect over elements that are only numbers.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "reports/bisect/search.hpp"

namespace nbx::reports::bisect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

/// Elements that bring the change together, any of `causes` being enough.
struct Planted {
  std::vector<Set> causes;
  std::vector<Set> asked{};

  bool changes(const Set& set) const {
    return std::any_of(causes.begin(), causes.end(), [&](const Set& cause) {
      return std::includes(set.begin(), set.end(), cause.begin(), cause.end());
    });
  }
  Found search(std::size_t elements) {
    return find_minimal_sets(elements, [this](const Set& set) {
      EXPECT_EQ(std::count(asked.begin(), asked.end(), set), 0) << "a set was evaluated twice";
      asked.push_back(set);
      return changes(set) ? Answer::changed : Answer::same;
    });
  }
};

TEST(BisectSearch, NothingChangedTakesOneEvaluation) {
  Planted planted{{}};
  const Found found = planted.search(40);
  EXPECT_THAT(found.minimal, IsEmpty());
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.evaluations, 1U);
}

TEST(BisectSearch, NoElements) {
  Planted planted{{}};
  EXPECT_THAT(planted.search(0).minimal, IsEmpty());
  EXPECT_THAT(planted.asked, IsEmpty());
}

TEST(BisectSearch, ThreeOfFortyWithinTheLimitWhereverTheyAre) {
  std::size_t worst_search = 0, worst = 0, least_audit = 40, sum = 0, count = 0;
  for (std::size_t a = 0; a < 40; ++a)
    for (std::size_t b = a + 1; b < 40; ++b)
      for (std::size_t c = b + 1; c < 40; ++c) {
        Planted planted{{{a}, {b}, {c}}};
        const Found found = planted.search(40);
        ASSERT_THAT(found.minimal, UnorderedElementsAreArray(planted.causes));
        ASSERT_TRUE(found.complete);
        worst_search = std::max(worst_search, found.evaluations);
        worst = std::max(worst, found.evaluations + found.audited);
        least_audit = std::min(least_audit, found.audited);
        sum += found.evaluations;
        ++count;
      }
  RecordProperty("mean", std::to_string(static_cast<double>(sum) / static_cast<double>(count)));
  EXPECT_EQ(count, 9880U);
  EXPECT_LE(worst, 3U * 6U + 6U);
  EXPECT_EQ(worst_search, 23U);  // as README.md says
  EXPECT_GE(least_audit, 1U);
}

TEST(BisectSearch, AnyCausesAreAllFoundAndNothingElse) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t elements = 3 + random() % 12;
    std::vector<Set> causes;
    for (std::size_t i = 0; i < 1 + random() % 4; ++i) {
      Set cause;
      for (std::size_t j = 0; j < 1 + random() % 3; ++j) cause.push_back(random() % elements);
      std::sort(cause.begin(), cause.end());
      cause.erase(std::unique(cause.begin(), cause.end()), cause.end());
      causes.push_back(cause);
    }
    // Those that hold another one are not minimal.
    std::vector<Set> minimal;
    for (const Set& cause : causes) {
      const bool more = std::any_of(causes.begin(), causes.end(), [&](const Set& other) {
        return other != cause && std::includes(cause.begin(), cause.end(), other.begin(), other.end());
      });
      if (!more && std::count(minimal.begin(), minimal.end(), cause) == 0) minimal.push_back(cause);
    }
    Planted planted{causes};
    const Found found = planted.search(elements);
    ASSERT_THAT(found.minimal, UnorderedElementsAreArray(minimal)) << "round " << round;
    ASSERT_TRUE(found.complete);
    ASSERT_THAT(found.breaches, IsEmpty());
  }
}

TEST(BisectSearch, APairIsFoundAsOneSet) {
  Planted planted{{{7, 31}}};
  const Found found = planted.search(40);
  EXPECT_THAT(found.minimal, ElementsAre(ElementsAre(7, 31)));
  EXPECT_EQ(found.evaluations + found.audited, 2U * 6U + 6U);
  EXPECT_GE(found.audited, 2U);  // the halves of the rest
}

TEST(BisectSearch, ABreachOfMonotonicityIsSaid) {
  // Element 2 brings the change; 30 takes it back where 2 is there; 35 brings it whatever else is there.
  const Found found = find_minimal_sets(40, [](const Set& set) {
    const auto has = [&](std::size_t element) { return std::binary_search(set.begin(), set.end(), element); };
    return has(35) || (has(2) && !has(30)) ? Answer::changed : Answer::same;
  });
  ASSERT_FALSE(found.breaches.empty());
  EXPECT_FALSE(found.complete);
  const auto& [inner, outer] = found.breaches.front();
  EXPECT_TRUE(std::includes(outer.begin(), outer.end(), inner.begin(), inner.end()));
}

TEST(BisectSearch, AnUntestableSetIsNamedAndTheRestStillFound) {
  const Set broken{0, 1, 2, 3, 4, 5, 6, 7};
  const Found found = find_minimal_sets(16, [&](const Set& set) {
    if (set == broken) return Answer::untestable;
    return std::binary_search(set.begin(), set.end(), 12U) ? Answer::changed : Answer::same;
  });
  EXPECT_THAT(found.minimal, ElementsAre(ElementsAre(12)));
  EXPECT_THAT(found.untestable, ElementsAre(broken));
  EXPECT_FALSE(found.complete);
}

TEST(BisectSearch, TheLimitOfEvaluationsHolds) {
  std::size_t asked = 0;
  const Found found = find_minimal_sets(
      40,
      [&](const Set& set) {
        ++asked;
        return std::binary_search(set.begin(), set.end(), 20U) ? Answer::changed : Answer::same;
      },
      4);
  EXPECT_EQ(asked, 4U);
  EXPECT_FALSE(found.complete);
}

}  // namespace
}  // namespace nbx::reports::bisect
