#include "oracle/verdict.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace nbx::oracle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();
constexpr std::int64_t chunk = 1024;

// |actual - value - low| and the sum with the radius carry three roundings of at most 2^-53 each. Where they are
// subnormal they are exact.
constexpr double outward = 1 + 0x1p-51;

enum class Decision : std::uint8_t { holds, red, open };

// A double as a multiple of 2^-1074: at most 2,098 bits, and a few more for sums.
using Fixed = boost::multiprecision::number<boost::multiprecision::cpp_int_backend<
    2176, 2176, boost::multiprecision::signed_magnitude, boost::multiprecision::unchecked, void>>;

Fixed fixed(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const int shift = exponent - 53 + 1074;
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  // A subnormal's trailing zeros fall where shift is negative.
  return shift >= 0 ? Fixed(mantissa) << shift : Fixed(mantissa / (std::int64_t{1} << -shift));
}

Decision decide_exactly(double actual, const Refined& refined, double radius, double low, double bound) {
  const Fixed error = boost::multiprecision::abs(fixed(actual) - fixed(refined.value) - fixed(low));
  if (error + fixed(radius) <= fixed(bound)) return Decision::holds;
  if (error - fixed(radius) > fixed(bound)) return Decision::red;
  return Decision::open;
}

/// `actual` is finite.
Decision decide(double actual, const Refined& refined, double bound) {
  const bool finer = refined.low_radius < refined.radius;
  const double radius = finer ? refined.low_radius : refined.radius;
  const double low = finer ? refined.low : 0;
  if (!(std::fabs(refined.value) <= largest && radius >= 0 && radius <= largest && bound >= 0)) return Decision::open;
  if (bound == infinity) return Decision::holds;
  if (low == 0) {  // the quick way, which leaves out a sliver around equality
    const double error = std::fabs(actual - refined.value);
    if ((error + radius) * outward <= bound) return Decision::holds;
    if (error > (bound + radius) * outward * outward) return Decision::red;
  }
  return decide_exactly(actual, refined, radius, low, bound);
}

/// |error| / bound, where the error is 0 it is 0 of any bound.
double share_of(double error, double bound) { return error > 0 ? error / bound : 0; }

class Judge {
 public:
  Judge(const Evaluation::Output& output, const Bounds& bounds, const Refine& refine, std::size_t output_index)
      : expected_(output.expected), bounds_(bounds), refine_(refine), output_index_(output_index) {}

  /// Elements begin … begin + count, count <= chunk.
  void judge_chunk(const double* actual, std::int64_t begin, std::int64_t count) {
    const double* value = expected_.value.data() + begin;
    const double* radius = expected_.radius.data() + begin;
    const double* bound = bounds_.bound.data() + begin;
    const std::uint8_t* classes = expected_.classes.data() + begin;
    const std::uint8_t* open = bounds_.open.data() + begin;
    std::array<double, chunk> share;  // negative where the quick pass does not settle the element
    double most = 0;
    bool settled = true;
    for (std::int64_t i = 0; i < count; ++i) {
      const double error = std::fabs(actual[i] - value[i]);
      const bool holds = static_cast<bool>(static_cast<unsigned>((error + radius[i]) * outward <= bound[i]) &
                                           static_cast<unsigned>(bound[i] <= largest) &
                                           static_cast<unsigned>((classes[i] & Class::finite) != 0) &
                                           static_cast<unsigned>(open[i] == 0));
      const double quotient = error > 0 ? error / bound[i] : 0;
      share[i] = holds ? quotient : -1;
      settled &= holds;
      most = share[i] > most ? share[i] : most;
    }
    if (settled) {
      judgement_.elements += count;
      judgement_.escalations[0] += count;
      if (judgement_.worst < 0 || most > good_share_) {
        const auto at = std::find(share.begin(), share.begin() + count, most);
        note_good(begin + (at - share.begin()), most);
      }
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (share[i] < 0) {
        judge_element(actual[i], begin + i);
      } else {
        ++judgement_.elements;
        ++judgement_.escalations[0];
        note_good(begin + i, share[i]);
      }
    }
  }

  Judgement finish() {
    judgement_.worst = red_ >= 0 ? red_ : good_;
    judgement_.worst_share = red_ >= 0 ? red_share_ : good_share_;
    return std::move(judgement_);
  }

 private:
  void note_good(std::int64_t element, double share) {
    if (good_ >= 0 && !(share > good_share_)) return;
    good_ = element;
    good_share_ = share;
  }

  void note_red(std::int64_t element, double share) {
    judgement_.wrong.push_back(element);
    if (red_ >= 0 && !(share > red_share_)) return;
    red_ = element;
    red_share_ = share;
  }

  void judge_element(double actual, std::int64_t element) {
    ++judgement_.elements;
    if (bounds_.open[element] != 0) ++judgement_.overflow_open;
    const std::optional<bool> by_class = judge_class(actual, element);
    if (by_class.has_value()) {
      ++judgement_.escalations[0];
      if (*by_class) {
        note_good(element, 0);
      } else {
        note_red(element, infinity);
      }
      return;
    }
    judge_finite(actual, element);
  }

  /// Decides by class where that is enough; nothing where the distance has to decide.
  std::optional<bool> judge_class(double actual, std::int64_t element) const {
    const unsigned accepted = bounds_.open[element] != 0 ? bounds_.classes[element] : expected_.classes[element];
    if (std::isnan(actual)) return (accepted & Class::not_a_number) != 0;
    if (actual == infinity) return (accepted & Class::plus_infinity) != 0;
    if (actual == -infinity) return (accepted & Class::minus_infinity) != 0;
    if ((accepted & Class::exact_plus_zero) != 0 && actual == 0 && !std::signbit(actual)) return true;
    if ((accepted & Class::finite) == 0) return false;
    return std::nullopt;
  }

  void judge_finite(double actual, std::int64_t element) {
    constexpr std::array<int, 7> precisions{106, 113, 256, 512, 1024, 2048, 4096};
    const double bound = bounds_.bound[element];
    Refined refined{expected_.value[element], expected_.radius[element]};
    Decision decision = decide(actual, refined, bound);
    std::size_t level = 0;
    for (; decision == Decision::open && refine_ && level < precisions.size(); ++level) {
      refined = refine_(output_index_, element, precisions[level]);
      decision = decide(actual, refined, bound);
    }
    if (decision == Decision::open) {
      judgement_.undecided = true;
      return;
    }
    ++judgement_.escalations[std::min(level, judgement_.escalations.size() - 1)];
    const double share = share_of(std::fabs(actual - refined.value - refined.low), bound);
    if (decision == Decision::holds) {
      note_good(element, share);
    } else {
      note_red(element, share);
    }
  }

  const Expected& expected_;
  const Bounds& bounds_;
  const Refine& refine_;
  std::size_t output_index_;
  Judgement judgement_;
  std::int64_t good_ = -1, red_ = -1;
  double good_share_ = 0, red_share_ = 0;
};

}  // namespace

Judgement judge(const Evaluation::Output& output, const Bounds& bounds, std::span<const std::byte> actual,
                Format format, const Refine& refine, std::size_t output_index) {
  const std::size_t size = output.expected.value.size();
  for (const std::size_t other : {output.expected.radius.size(), output.expected.classes.size(), bounds.bound.size(),
                                  bounds.classes.size(), bounds.open.size()}) {
    if (other != size) throw std::invalid_argument("judge: the bounds are not of the output's size");
  }
  const auto width = static_cast<std::size_t>(traits(format).bytes);
  if (actual.size() != size * width) return {};
  Judge judge(output, bounds, refine, output_index);
  const View given{.bytes = actual, .format = format, .shape = {static_cast<std::int64_t>(size)}};
  std::array<double, chunk> values;
  for (std::size_t begin = 0; begin < size; begin += chunk) {
    const std::size_t count = std::min<std::size_t>(chunk, size - begin);
    given.read(static_cast<std::int64_t>(begin), std::span(values).first(count));
    judge.judge_chunk(values.data(), static_cast<std::int64_t>(begin), static_cast<std::int64_t>(count));
  }
  return judge.finish();
}

}  // namespace nbx::oracle
