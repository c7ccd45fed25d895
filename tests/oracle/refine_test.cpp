#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "oracle/exact.hpp"
#include "oracle/plain.hpp"
#include "oracle/reference.hpp"
#include "oracle/wide.hpp"
#include "problems.hpp"

namespace nbx::oracle::testing {
namespace {

using Real = PlainReal<512>;

// What the 512-bit reference itself may be off by, of magnitudes up to that of the largest value.
constexpr int plain_bits = 480;

struct Distances {
  Real to_value, to_both;  // |exact - value|, |exact - (value + low)|
};
Distances distances(const Refined& refined, const Real& exact) {
  const Real rest = exact - refined.value;
  return {abs(rest), abs(rest - refined.low)};
}

/// Value ± radius and value + low ± low_radius both hold `exact`.
void expect_encloses(const Refined& refined, const Real& exact, const Real& magnitude, const std::string& where) {
  const Real slack = ldexp(magnitude, -plain_bits);
  const Distances off = distances(refined, exact);
  ASSERT_TRUE(off.to_value <= refined.radius + slack) << where << ": " << refined.value << " ± " << refined.radius;
  ASSERT_TRUE(off.to_both <= refined.low_radius + slack)
      << where << ": low " << refined.low << " ± " << refined.low_radius;
}

Real largest(const Tensor& tensor) {
  double most = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i) most = std::max(most, std::fabs(tensor.at(i)));
  return most;
}

TEST(Refine, AttentionEnclosesThePlainReferenceAtEveryLevel) {
  std::mt19937_64 random(11);
  int finite = 0;
  for (int round = 0; round < 440; ++round) {
    AttentionSpec spec = random_spec(random, all_kinds()[static_cast<std::size_t>(round) % all_kinds().size()]);
    spec.B = 1, spec.H = spec.Hk, spec.Dv = std::min<std::int64_t>(spec.Dv, 3);
    const Attention problem = make(spec);
    const auto exact = plain<512>(problem.input());
    const Refine refine = refiner(problem.input());
    for (std::size_t output = 0; output < 2; ++output) {
      for (std::size_t element = 0; element < exact[output].size(); element += 5) {
        const Real& answer = exact[output][element];
        if (!isfinite(answer)) continue;
        const Real magnitude = output == 0 ? largest(problem.v) : Real(abs(answer) + 1);
        for (const int bits : {106, 113, 256}) {
          const Refined refined = refine(output, static_cast<std::int64_t>(element), bits);
          if (std::isnan(refined.value)) {  // a fully masked row has no weights to refine
            ASSERT_TRUE(answer == 0) << describe(spec);
            continue;
          }
          ++finite;
          expect_encloses(refined, answer, magnitude, describe(spec) + " at " + std::to_string(bits));
        }
      }
    }
  }
  EXPECT_GT(finite, 2'000);
}

TEST(Refine, SoftmaxEnclosesThePlainReferenceAtEveryLevel) {
  std::mt19937_64 random(12);
  for (const bool log : {false, true}) {
    for (const int axis : {-1, 0, 1}) {
      Tensor x(Format::f32, {3, 4, 5});
      x.fill([&] { return std::normal_distribution<double>(0, 8)(random); });
      x.set(7, -INFINITY);
      const SoftmaxInput input{.x = x.view(), .axis = axis, .log = log};
      const auto exact = plain<512>(input);
      const Refine refine = refiner(input);
      for (std::int64_t element = 0; element < x.size(); ++element) {
        if (!isfinite(exact[0][element])) continue;
        for (const int bits : {106, 113, 256}) {
          expect_encloses(refine(0, element, bits), exact[0][element], Real(abs(exact[0][element]) + 1), "softmax");
        }
      }
    }
  }
}

TEST(Refine, RadiiShrinkWithThePrecision) {
  const Attention problem = make({.H = 2, .Hk = 1, .Tq = 3, .Tk = 200, .D = 16, .Dv = 4, .seed = 5});
  const Refine refine = refiner(problem.input());
  for (std::size_t output = 0; output < 2; ++output) {
    const Refined coarse = refine(output, 1, 106), fine = refine(output, 1, 113), finest = refine(output, 1, 4096);
    EXPECT_LT(coarse.low_radius, 0x1p-80);
    EXPECT_LT(fine.low_radius, 0x1p-105);
    EXPECT_LE(finest.low_radius, fine.low_radius);
    EXPECT_EQ(coarse.value, finest.value);
    EXPECT_LE(finest.radius, std::fabs(finest.value) * 0x1p-52);
    EXPECT_GE(finest.radius, std::fabs(finest.low));
  }
}

TEST(Refine, RationalAnswersAreExact) {
  for (const Format format : {Format::f32, Format::bf16, Format::e4m3}) {
    for (const ExactCase& problem : exact_cases(format, 3)) {
      const Refine refine = refiner(problem.input);
      for (std::size_t at = 0; at < problem.o.size(); ++at) {
        if (!problem.lse_count.empty() && problem.lse_count[at / problem.input.v.shape[3]] == 0) continue;
        const Refined refined = refine(0, static_cast<std::int64_t>(at), 106);
        using Rational = boost::multiprecision::cpp_rational;
        const Rational both = Rational(refined.value) + Rational(refined.low);
        ASSERT_TRUE(abs(Rational(problem.o[at] - both)) <= Rational(refined.low_radius)) << problem.name << " " << at;
        // A power of two of keys, and every constant: nothing is left.
        const bool dyadic = (denominator(problem.o[at]) & (denominator(problem.o[at]) - 1)) == 0;
        ASSERT_EQ(refined.low_radius == 0, dyadic) << problem.name << " " << at << ": " << problem.o[at];
        ASSERT_LE(refined.low_radius, 0x1p-100);
      }
    }
  }
}

TEST(Refine, SoftmaxOfEqualsIsExact) {
  Tensor x(Format::f32, {8});
  x.fill([] { return 3.25; });
  const Refined eighth = refiner(SoftmaxInput{.x = x.view()})(0, 2, 106);
  EXPECT_EQ(eighth.value, 0.125);
  EXPECT_EQ(eighth.radius, 0);
  EXPECT_EQ(eighth.low_radius, 0);
  x.set(5, 4.0);
  EXPECT_GT(refiner(SoftmaxInput{.x = x.view()})(0, 2, 106).low_radius, 0);
  Tensor one(Format::f32, {1});
  one.set(0, 17.5);
  EXPECT_EQ(refiner(SoftmaxInput{.x = one.view(), .log = true})(0, 0, 106).low_radius, 0);
}

TEST(Refine, SpecialRowsDecideNothing) {
  Attention problem = make({.Tq = 4, .Tk = 6, .D = 3, .Dv = 2, .bias = AttentionSpec::Bias::rows, .seed = 2});
  problem.bias.fill([] { return 0.0; });
  problem.q.set(0, NAN);
  problem.q.set(3, INFINITY);
  for (std::int64_t j = 0; j < 6; ++j) problem.bias.set(2 * 6 + j, -INFINITY);
  problem.v.set(0, NAN);
  const Refine refine = refiner(problem.input());
  for (std::int64_t row = 0; row < 3; ++row) {
    for (const int bits : {106, 256}) {
      EXPECT_TRUE(std::isnan(refine(0, row * 2, bits).value)) << row;
      EXPECT_TRUE(std::isinf(refine(0, row * 2 + 1, bits).radius)) << row;
      EXPECT_TRUE(std::isnan(refine(1, row, bits).value)) << row;
    }
  }
  EXPECT_TRUE(std::isnan(refine(0, 3 * 2, 106).value));         // the NaN value's column
  EXPECT_TRUE(std::isfinite(refine(0, 3 * 2 + 1, 106).value));  // its neighbour
}

TEST(Refine, AScoreOfMinusInfinityFromDataHasNoWeight) {
  Attention problem = make({.Tq = 2, .Tk = 6, .D = 3, .Dv = 2, .seed = 2});
  problem.q.fill([] { return 1.0; });
  problem.k.set(5 * 3, -INFINITY);
  Attention shorter = make({.Tq = 2, .Tk = 6, .D = 3, .Dv = 2, .seed = 2});
  shorter.q.fill([] { return 1.0; });
  shorter.lengths = {5};
  for (std::size_t output = 0; output < 2; ++output) {
    const Refined with = refiner(problem.input())(output, 1, 113), without = refiner(shorter.input())(output, 1, 113);
    EXPECT_EQ(with.value, without.value);
    EXPECT_EQ(with.low, without.low);
    EXPECT_LT(with.radius, 1e-14);
  }
}

template <class T>
class WideArithmetic : public ::testing::Test {};
using Levels = ::testing::Types<DoubleDouble, BinaryFloat<177>, BinaryFloat<320>, BinaryFloat<1088>, BinaryFloat<4160>>;
TYPED_TEST_SUITE(WideArithmetic, Levels);

using Widest = PlainReal<4400>;

Widest widest(const DoubleDouble& x) { return Widest(x.hi) + x.lo; }
/// Word by word; exact.
template <unsigned N>
Widest widest(const BinaryFloat<N>& x) {
  int exponent = 0;
  BinaryFloat<N> rest = frexp(x, &exponent);
  Widest sum = 0;
  for (; rest != 0; exponent -= 53) {
    const double word = to_double(rest);
    sum += ldexp(Widest(word), exponent);
    rest = ldexp(BinaryFloat<N>(rest - word), 53);
  }
  return sum;
}

TYPED_TEST(WideArithmetic, ExponentialHoldsItsBound) {
  std::mt19937_64 random(13);
  const int rounds = WideTraits<TypeParam>::bits < 400 ? 60 : 4;
  const Widest bound =
      ldexp(Widest(exponential_error<TypeParam>() / roundoff<TypeParam>()), -WideTraits<TypeParam>::bits);
  Widest worst = 0;
  for (int round = 0; round < rounds; ++round) {
    const double t = round == 0 ? -WideTraits<TypeParam>::cutoff + 1e-9
                                : -std::uniform_real_distribution<double>(0, round % 2 == 0 ? 2 : 649)(random);
    const Widest exact = exp(Widest(t));
    const Widest error = abs(widest(exponential(TypeParam(t))) - exact) / exact;
    if (error > worst) worst = error;
  }
  EXPECT_TRUE(worst <= bound) << worst.convert_to<double>() << " against " << bound.convert_to<double>();
  EXPECT_TRUE(worst > 0);
}

TYPED_TEST(WideArithmetic, LogarithmHoldsItsBound) {
  std::mt19937_64 random(14);
  const int rounds = WideTraits<TypeParam>::bits < 400 ? 20 : 2;
  for (int round = 0; round < rounds; ++round) {
    const double x =
        0.5 + std::ldexp(std::uniform_real_distribution<double>(0, 1)(random), static_cast<int>(random() % 17));
    double error = 0;
    const Widest result = widest(logarithm(TypeParam(x), &error));
    ASSERT_TRUE(abs(result - log(Widest(x))) <= error) << x;
    ASSERT_LE(error, std::ldexp(1.0, -std::min(WideTraits<TypeParam>::bits - 40, 900)));
  }
}

TEST(DoubleDoubleTest, OperationsHoldTheirBound) {
  std::mt19937_64 random(15);
  const auto draw = [&] {
    const double hi = std::ldexp(std::normal_distribution<double>()(random), static_cast<int>(random() % 40) - 20);
    return fast_two_sum(hi, hi * std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random), -53));
  };
  const auto within = [](const DoubleDouble& x, const Real& exact) {
    return abs(Real(x.hi) + x.lo - exact) <= ldexp(Real(abs(exact)), -WideTraits<DoubleDouble>::bits);
  };
  for (int i = 0; i < 50'000; ++i) {
    const DoubleDouble a = draw(), b = i % 4 == 0 ? -a + DoubleDouble(a.hi * 0x1p-40) : draw();
    const Real x = Real(a.hi) + a.lo, y = Real(b.hi) + b.lo;
    ASSERT_TRUE(within(a + b, x + y));
    ASSERT_TRUE(within(a - b, x - y));
    ASSERT_TRUE(within(a * b, x * y));
    ASSERT_TRUE(within(a / b, x / y));
  }
}

}  // namespace
}  // namespace nbx::oracle::testing
