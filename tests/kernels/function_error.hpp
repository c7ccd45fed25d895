// The largest error of a float function, certified: glibc's double function filters, MPFR decides.
#pragma once

#include <mpfr.h>

#include <array>
#include <cstdint>
#include <ostream>

namespace nbx::tests {

struct Function {
  const char* name;
  float (*computed)(float);
  double (*reference)(double);  // glibc's: documented below 1 ulp of double, trusted here to 8
  int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
  double ulp;  // the bound that kernels/tile/functions.hpp states
};

/// Those of kernels/tile/functions.hpp.
extern const std::array<Function, 4> functions;

inline void PrintTo(const Function& function, std::ostream* out) { *out << function.name; }

/// The worst of some floats. Merges: worst of several ranges.
struct Worst {
  double ulp = 0.5;  // smaller errors are not told apart; a wrong class, NaN included, is +Inf
  std::uint32_t at = 0;
  std::uint64_t checked = 0;
  std::uint64_t certified = 0;  // by MPFR
};

Worst worse_of(const Worst& a, const Worst& b);

/// |computed − exact| in units of max(ulp(exact), 2^-149), with 256 bits.
double certified_error(const Function& function, float x);

/// One float: certified only if it may be worse than what is known.
void measure(const Function& function, std::uint32_t bits, Worst& worst);

/// `count` floats whose bits are first, first + step, …, on all of the machine's threads.
Worst measure_range(const Function& function, std::uint32_t first, std::uint64_t count, std::uint32_t step);

/// Expects the bound to hold, and prints what was worst on a pass too.
void expect_within_bound(const Function& function, const Worst& worst);

}  // namespace nbx::tests
