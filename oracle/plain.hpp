// The definition once more, as plainly as it can be written, in binary floats of many bits. It watches `evaluate` and
// `refiner`, and shares nothing with them but the views that it reads.
#pragma once

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstdint>
#include <vector>

#include "oracle/reference.hpp"

namespace nbx::oracle {

template <unsigned Bits>
using PlainReal =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<Bits, boost::multiprecision::digit_base_2>,
                                  boost::multiprecision::et_off>;

/// Every output in Evaluation's order and layout, NaN and ±Inf as the definition has them. A fully masked row is +0
/// with an LSE of -inf. Compiled for 256 and 512 bits. Meant for small problems: some 30 µs a weight and 0.2 µs a
/// product. A relative error of a few thousand 2^-Bits of Σ p|v| / l is left.
template <unsigned Bits>
std::vector<std::vector<PlainReal<Bits>>> plain(const SoftmaxInput& input);
template <unsigned Bits>
std::vector<std::vector<PlainReal<Bits>>> plain(const AttentionInput& input,
                                                Arithmetic::MaskedValue masked_value = Arithmetic::MaskedValue::inert);

/// Whether `expected` admits the plain answer at `element`: its class, and its value within the radius. What the plain
/// reference itself may be off by is granted: 2^-200 of the answer, 2^-150 of the radius.
bool admits(const Expected& expected, std::int64_t element, const PlainReal<256>& answer);

/// A second derivation of the formats, by counting: 0 comes first, and each pattern lies one step above the one before,
/// where the step doubles whenever the mantissa has run through. NaN where the definition says so.
double plain_decode(Format format, std::uint32_t bits);

}  // namespace nbx::oracle
