#include "contracts/families/decode_inputs.hpp"

#include <limits>

#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr std::int64_t segment = 256;

/// One query a head: in clusters, head h sees its own keys.
void spread_clusters(const DecodeProblem& problem, AttentionData& data) {
  const AttentionProblem& p = problem.base;
  auto q = std::make_shared<Bytes>(*data.q);
  for (std::int64_t i = 0; i < p.B * p.H * p.D; ++i)
    put_pattern(*q, data.format, i, oracle::encode(*oracle_format(data.format), i / p.D % p.D == i % p.D ? 16 : 0));
  data.q = q;
}

/// f(b, position) over K and V: NaN where it holds.
template <class F>
void make_nan(const AttentionProblem& p, AttentionData& data, bool values, F&& f) {
  auto k = std::make_shared<Bytes>(*data.k), v = std::make_shared<Bytes>(*data.v);
  const std::uint32_t pattern = oracle::encode(*oracle_format(data.format), nan);
  const std::int64_t columns = data.v_shape[3];
  for (std::int64_t b = 0; b < p.B; ++b)
    for (std::int64_t h = 0; h < p.Hk; ++h)
      for (std::int64_t j = 0; j < p.Tk; ++j) {
        if (!f(b, j)) continue;
        const std::int64_t row = (b * p.Hk + h) * p.Tk + j;
        put_pattern(*k, data.format, row * p.D + j % p.D, pattern);
        if (values) put_pattern(*v, data.format, row * columns + j % columns, pattern);
      }
  data.k = k;
  data.v = v;
}

void plant(const DecodeProblem& problem, AttentionData& data) {
  const AttentionProblem& p = problem.base;
  switch (problem.plant) {
    case DecodePlant::none:
      break;
    case DecodePlant::taken_back: {
      std::vector<std::int64_t> lengths;
      for (std::int64_t b = 0; b < p.B; ++b) lengths.push_back(decode_length(problem, b));
      take_back_halves(p, lengths, data);
      break;
    }
    case DecodePlant::nan_splits:
      make_nan(p, data, false, [](std::int64_t b, std::int64_t j) { return j == b * segment + 17; });
      break;
    case DecodePlant::stale_tail:
      make_nan(p, data, true, [&](std::int64_t b, std::int64_t j) { return j >= decode_length(problem, b); });
      break;
    case DecodePlant::masked_split: {
      const auto masked = [](std::int64_t j) { return j >= segment && j < 2 * segment; };
      make_nan(p, data, true, [&](std::int64_t, std::int64_t j) { return masked(j); });
      auto bias = std::make_shared<Bytes>(*data.bias);
      for (std::int64_t j = 0; j < p.Tk; ++j)
        if (masked(j)) put_pattern(*bias, data.bias_format, j, oracle::encode(*oracle_format(data.bias_format), -inf));
      data.bias = bias;
      break;
    }
  }
}

}  // namespace

void take_back_halves(const AttentionProblem& p, std::span<const std::int64_t> lengths, AttentionData& data) {
  auto k = std::make_shared<Bytes>(*data.k), v = std::make_shared<Bytes>(*data.v);
  const oracle::Format format = *oracle_format(data.format);
  const std::int64_t columns = data.v_shape[3];
  for (std::int64_t head = 0; head < p.B * p.Hk; ++head) {
    const std::int64_t half = lengths[static_cast<std::size_t>(head / p.Hk)] / 2;
    for (std::int64_t j = 0; j < half; ++j) {
      const std::int64_t first = head * p.Tk + j, second = first + half;
      for (std::int64_t d = 0; d < p.D; ++d)
        put_pattern(*k, data.format, second * p.D + d, pattern_at(*k, data.format, first * p.D + d));
      for (std::int64_t d = 0; d < columns; ++d) {
        // Times 1,024, so that what rounding leaves is no 0 in f16 either.
        const double value = 1024 * value_at(*v, data.format, first * columns + d);
        put_pattern(*v, data.format, first * columns + d, oracle::encode(format, value));
        put_pattern(*v, data.format, second * columns + d, oracle::encode(format, -value));
      }
    }
  }
  data.k = k;
  data.v = v;
}

SharedBytes int32_bytes(std::span<const std::int64_t> values) {
  auto bytes = std::make_shared<Bytes>(values.size() * 4);
  for (std::size_t i = 0; i < values.size(); ++i)
    put_pattern(*bytes, int32_type, static_cast<std::int64_t>(i),
                static_cast<std::uint32_t>(static_cast<std::int32_t>(values[i])));
  return bytes;
}

DecodeData make_decode_data(const DecodeProblem& problem, DLDataType format, std::uint64_t seed) {
  const AttentionProblem& p = problem.base;
  DecodeData data;
  data.attention = make_attention_data(p, format, seed);
  if (p.kind == AttentionKind::clusters) spread_clusters(problem, data.attention);
  plant(problem, data.attention);
  data.q_format = format;
  data.given_q = data.attention.q;
  if (problem.q_round) {
    // Drawn in f32; what is computed with is its narrowing.
    data.q_format = f32_type;
    data.given_q = make_attention_data(p, f32_type, seed).q;
    auto narrow = std::make_shared<Bytes>(data.attention.q->size());
    for (std::int64_t i = 0; i < p.B * p.H * p.D; ++i)
      put_pattern(*narrow, format, i, oracle::encode(*oracle_format(format), value_at(*data.given_q, f32_type, i)));
    data.attention.q = narrow;
  }
  if (problem.lengths != Lengths::none) {
    for (std::int64_t b = 0; b < p.B; ++b) data.lengths.push_back(decode_length(problem, b));
    data.lengths_bytes = int32_bytes(data.lengths);
  }
  return data;
}

oracle::AttentionInput decode_input(const DecodeProblem& problem, const DecodeData& data) {
  const AttentionData& from = data.attention;
  const auto view = [](const SharedBytes& bytes, DLDataType type, const Shape& shape) {
    return oracle::View{.bytes = *bytes, .format = *oracle_format(type), .shape = shape};
  };
  oracle::AttentionInput in{.q = view(from.q, from.format, from.q_shape),
                            .k = view(from.k, from.format, from.k_shape),
                            .v = view(from.v, from.format, from.v_shape),
                            .bias = {},
                            .causal = problem.base.causal,
                            .scale = {},
                            .lengths = data.lengths};
  if (from.bias) {
    Shape shape = *from.bias_shape;
    while (shape.size() < 4) shape.insert(shape.begin(), 1);
    in.bias = view(from.bias, from.bias_format, shape);
  }
  if (problem.base.scale != 0) in.scale = problem.base.scale;
  return in;
}

}  // namespace nbx::contracts
