// Inputs for the oracle's tests: tensors that own their bytes, and the ways to fill them.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <random>
#include <string>
#include <vector>

#include "oracle/reference.hpp"

namespace nbx::oracle::testing {

struct Tensor {
  std::vector<std::byte> bytes;
  Format format = Format::f32;
  std::vector<std::int64_t> shape;

  Tensor() = default;
  Tensor(Format format_, std::vector<std::int64_t> shape_);
  std::int64_t size() const;
  View view() const { return {.bytes = bytes, .format = format, .shape = shape}; }
  double at(std::int64_t index) const { return view().at(index); }
  void set(std::int64_t index, double value);  // narrowed
  void set_bits(std::int64_t index, std::uint32_t bits);
  void fill(const std::function<double()>& next);
};

/// `values` in `format`, dense.
std::vector<std::byte> pack(Format format, const std::vector<double>& values);

enum class Kind : std::uint8_t {
  normal,
  wide,          // exponents over the whole range of the format, both signs
  small,         // logits that stay small although q and k are wide
  cancelling,    // v in pairs of ±v over equal keys
  subnormal,     // v and the last head-dim columns are subnormal
  zeros,         // ±0 among normal ones
  largest,       // ± the largest finite value of the format among normal ones
  equal,         // all keys equal
  far_apart,     // logits more than 2^10 apart
  anti_aligned,  // all logits very negative
  sink,          // one key takes most of the mass
};
const std::vector<Kind>& all_kinds();
std::string name(Kind kind);

struct AttentionSpec {
  std::int64_t B = 1, H = 1, Hk = 1, Tq = 1, Tk = 1, D = 1, Dv = 1;
  Format format = Format::f32;
  Causal causal = Causal::none;
  enum class Bias : std::uint8_t { none, keys, rows, full } bias = Bias::none;
  bool lengths = false;  // drawn, 0 … Tk
  Kind kind = Kind::normal;
  std::uint64_t seed = 1;
};
std::string describe(const AttentionSpec& spec);

/// Moves, does not copy: input() views it.
struct Attention {
  Tensor q, k, v, bias;
  Causal causal = Causal::none;
  std::optional<float> scale;
  std::vector<std::int64_t> lengths;

  AttentionInput input() const;
};
Attention make(const AttentionSpec& spec);

/// Random specs with every kind, format, mask, bias and head layout among the first few hundred.
AttentionSpec random_spec(std::mt19937_64& random, Kind kind);

/// A finite number of the format, drawn from all its bit patterns.
double any_finite(Format format, std::mt19937_64& random);

/// The whole of fp32 with operations that are exact to half an ulp.
Arithmetic plain_f32();

}  // namespace nbx::oracle::testing
