#include "problems.hpp"

#include <algorithm>
#include <cmath>

namespace nbx::oracle::testing {
namespace {

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  return size;
}

double normal(std::mt19937_64& random) { return std::normal_distribution<double>()(random); }

bool chance(std::mt19937_64& random, unsigned one_in) { return random() % one_in == 0; }

/// Every key a copy of its neighbour at an even place, and values that cancel.
void pair_up(Attention& problem) {
  const std::int64_t D = problem.k.shape[3], Dv = problem.v.shape[3], Tk = problem.k.shape[2];
  const std::int64_t heads = problem.k.shape[0] * problem.k.shape[1];
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t j = 1; j < Tk; j += 2) {
      const std::int64_t key = head * Tk + j;
      for (std::int64_t d = 0; d < D; ++d) problem.k.set(key * D + d, problem.k.at((key - 1) * D + d));
      for (std::int64_t d = 0; d < Dv; ++d) problem.v.set(key * Dv + d, -problem.v.at((key - 1) * Dv + d));
    }
  }
}

void fill_by_kind(Attention& problem, Kind kind, std::mt19937_64& random) {
  const Format format = problem.q.format;
  const auto each = [&](Tensor& tensor, const std::function<double()>& next) { tensor.fill(next); };
  const auto gauss = [&] { return normal(random); };
  for (Tensor* tensor : {&problem.q, &problem.k, &problem.v}) each(*tensor, gauss);
  switch (kind) {
    case Kind::normal:
      return;
    case Kind::wide:
      for (Tensor* tensor : {&problem.q, &problem.k, &problem.v})
        each(*tensor, [&] { return any_finite(format, random); });
      return;
    case Kind::small:
      // Exponents over the format's range, with k the inverse scale of q: q·k stays near 1.
      for (std::int64_t i = 0; i < problem.q.size(); ++i) {
        const double scale = std::ldexp(1.0, static_cast<int>(i % problem.q.shape[3]) % 13 - 6);
        problem.q.set(i, gauss() * scale);
      }
      for (std::int64_t i = 0; i < problem.k.size(); ++i) {
        const double scale = std::ldexp(1.0, static_cast<int>(i % problem.k.shape[3]) % 13 - 6);
        problem.k.set(i, gauss() / scale);
      }
      each(problem.v, [&] { return any_finite(format, random); });
      return;
    case Kind::cancelling:
      pair_up(problem);
      return;
    case Kind::subnormal: {
      const auto tiny = [&] { return std::round(gauss() * 100) * quantum(format); };
      each(problem.v, tiny);
      for (std::int64_t i = 0; i < problem.k.size(); ++i) {
        if (i % problem.k.shape[3] >= problem.k.shape[3] / 2) problem.k.set(i, tiny());
      }
      return;
    }
    case Kind::zeros:
      for (Tensor* tensor : {&problem.q, &problem.k, &problem.v}) {
        each(*tensor, [&] { return chance(random, 2) ? gauss() : chance(random, 2) ? 0.0 : -0.0; });
      }
      return;
    case Kind::largest: {
      // Every second problem in q as well: scores as large as the format gives, and far past fp32 in f32.
      const bool in_query = chance(random, 2);
      for (Tensor* tensor : {&problem.q, &problem.k, &problem.v}) {
        if (tensor == &problem.q && !in_query) continue;
        const unsigned one_in = in_query ? 2 : 6;
        tensor->fill([&] { return chance(random, one_in) ? std::copysign(largest_finite(format), gauss()) : gauss(); });
      }
      return;
    }
    case Kind::equal:
      for (std::int64_t i = 0; i < problem.k.size(); ++i) problem.k.set(i, problem.k.at(i % problem.k.shape[3]));
      return;
    case Kind::far_apart:
      for (std::int64_t i = 0; i < problem.k.size(); ++i) {
        problem.k.set(i, problem.k.at(i) * (chance(random, 2) ? 400 : 1));
      }
      return;
    case Kind::anti_aligned:
      for (std::int64_t i = 0; i < problem.q.size(); ++i) problem.q.set(i, std::fabs(problem.q.at(i)) * 4);
      for (std::int64_t i = 0; i < problem.k.size(); ++i) problem.k.set(i, -std::fabs(problem.k.at(i)) * 4);
      return;
    case Kind::sink:
      for (std::int64_t d = 0; d < problem.k.shape[3]; ++d) problem.k.set(d, problem.q.at(d) * 6);
      return;
  }
}

Tensor make_bias(const AttentionSpec& spec, std::mt19937_64& random) {
  using Bias = AttentionSpec::Bias;
  const bool rows = spec.bias == Bias::rows || spec.bias == Bias::full, heads = spec.bias == Bias::full;
  Tensor bias(Format::f32, {heads ? spec.B : 1, heads ? spec.H : 1, rows ? spec.Tq : 1, spec.Tk});
  bias.fill([&] { return chance(random, 7) ? -INFINITY : normal(random) * 3; });
  return bias;
}

}  // namespace

Tensor::Tensor(Format format_, std::vector<std::int64_t> shape_) : format(format_), shape(std::move(shape_)) {
  bytes.resize(static_cast<std::size_t>(size() * traits(format).bytes));
}

std::int64_t Tensor::size() const { return product(shape); }

void Tensor::set(std::int64_t index, double value) { set_bits(index, encode(format, value)); }

void Tensor::set_bits(std::int64_t index, std::uint32_t bits) {
  const int width = traits(format).bytes;
  for (int byte = 0; byte < width; ++byte) {
    bytes[static_cast<std::size_t>(index * width + byte)] = static_cast<std::byte>(bits >> (8 * byte) & 0xFF);
  }
}

void Tensor::fill(const std::function<double()>& next) {
  for (std::int64_t index = 0; index < size(); ++index) set(index, next());
}

std::vector<std::byte> pack(Format format, const std::vector<double>& values) {
  Tensor tensor(format, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<std::int64_t>(i), values[i]);
  return tensor.bytes;
}

const std::vector<Kind>& all_kinds() {
  static const std::vector<Kind> kinds{Kind::normal,    Kind::wide,         Kind::small,   Kind::cancelling,
                                       Kind::subnormal, Kind::zeros,        Kind::largest, Kind::equal,
                                       Kind::far_apart, Kind::anti_aligned, Kind::sink};
  return kinds;
}

std::string name(Kind kind) {
  static const char* const names[] = {"normal",  "wide",  "small",     "cancelling",   "subnormal", "zeros",
                                      "largest", "equal", "far_apart", "anti_aligned", "sink"};
  return names[static_cast<int>(kind)];
}

std::string describe(const AttentionSpec& spec) {
  static const char* const formats[] = {"f32", "f16", "bf16", "tf32", "e4m3", "e5m2"};
  static const char* const masks[] = {"", ",top_left", ",bottom_right"};
  static const char* const biases[] = {"", ",bias[Tk]", ",bias[Tq,Tk]", ",bias[B,H,Tq,Tk]"};
  const auto axis = [](const char* label, std::int64_t value) { return label + std::to_string(value); };
  return axis("B=", spec.B) + axis(",H=", spec.H) + axis(",Hk=", spec.Hk) + axis(",Tq=", spec.Tq) +
         axis(",Tk=", spec.Tk) + axis(",D=", spec.D) + axis(",Dv=", spec.Dv) + "," +
         formats[static_cast<int>(spec.format)] + masks[static_cast<int>(spec.causal)] +
         biases[static_cast<int>(spec.bias)] + (spec.lengths ? ",lengths" : "") + "," + name(spec.kind) +
         axis(",seed=", static_cast<std::int64_t>(spec.seed));
}

AttentionInput Attention::input() const {
  AttentionInput in;
  in.q = q.view();
  in.k = k.view();
  in.v = v.view();
  if (!bias.shape.empty()) in.bias = bias.view();
  in.causal = causal;
  in.scale = scale;
  in.lengths = lengths;
  return in;
}

Attention make(const AttentionSpec& spec) {
  std::mt19937_64 random(spec.seed);
  Attention problem;
  problem.q = Tensor(spec.format, {spec.B, spec.H, spec.Tq, spec.D});
  problem.k = Tensor(spec.format, {spec.B, spec.Hk, spec.Tk, spec.D});
  problem.v = Tensor(spec.format, {spec.B, spec.Hk, spec.Tk, spec.Dv});
  problem.causal = spec.causal;
  fill_by_kind(problem, spec.kind, random);
  if (spec.bias != AttentionSpec::Bias::none) problem.bias = make_bias(spec, random);
  if (spec.lengths) {
    for (std::int64_t b = 0; b < spec.B; ++b) {
      problem.lengths.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(spec.Tk + 1)));
    }
  }
  return problem;
}

AttentionSpec random_spec(std::mt19937_64& random, Kind kind) {
  const auto draw = [&](std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(last - first + 1));
  };
  static constexpr Format formats[] = {Format::f32, Format::f16, Format::bf16, Format::e4m3, Format::f32, Format::e5m2};
  AttentionSpec spec{.kind = kind};
  spec.Hk = draw(1, 2);
  spec.H = spec.Hk * draw(1, 3);
  spec.B = draw(1, 2);
  spec.Tq = draw(1, 9);
  spec.Tk = draw(1, 12);
  spec.D = draw(1, 9);
  spec.Dv = draw(1, 40);
  spec.format = formats[draw(0, 5)];
  spec.causal = static_cast<Causal>(draw(0, 2));
  spec.bias = static_cast<AttentionSpec::Bias>(draw(0, 3));
  spec.lengths = chance(random, 4);
  spec.seed = random();
  return spec;
}

double any_finite(Format format, std::mt19937_64& random) {
  const int bits = 8 * traits(format).bytes;
  while (true) {
    const auto pattern = static_cast<std::uint32_t>(random() >> (64 - bits));
    const double value = decode(format, pattern);
    if (std::isfinite(value)) return value;
  }
}

Arithmetic plain_f32() {
  Arithmetic arithmetic;
  arithmetic.sum_depth = 1 << 12;
  return arithmetic;
}

}  // namespace nbx::oracle::testing
