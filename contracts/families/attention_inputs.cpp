#include "contracts/families/attention_inputs.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "contracts/families/attention_elements.hpp"
#include "contracts/formats.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts {
namespace {

using enum AttentionKind;
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t tile = 64;

using Fill = double (*)(const AttentionProblem&, oracle::Format, std::int64_t, std::int64_t, std::int64_t, Random&);

SharedBytes fill(const AttentionProblem& p, DLDataType type, const Shape& shape, Random random, Fill element) {
  // (batch, head, position, component)
  auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(count(shape)) * (type.bits / 8));
  const oracle::Format format = *oracle_format(type);
  std::int64_t index = 0;
  for (std::int64_t bh = 0; bh < shape[0] * shape[1]; ++bh) {
    const std::int64_t special = shape[2] ? random.below(shape[2]) : 0;
    for (std::int64_t j = 0; j < shape[2]; ++j)
      for (std::int64_t d = 0; d < shape[3]; ++d)
        put_pattern(*bytes, type, index++, oracle::encode(format, element(p, format, j, d, special, random)));
  }
  return bytes;
}

/// Keys and values in equal and opposite pairs: (k, v), (k, -v).
void pair_up(Bytes& k, Bytes& v, const Shape& k_shape, const Shape& v_shape, DLDataType type) {
  const std::uint32_t sign = 1u << (type.bits - 1);
  for (std::int64_t bh = 0; bh < k_shape[0] * k_shape[1]; ++bh)
    for (std::int64_t j = 0; j + 1 < k_shape[2]; j += 2) {
      const std::int64_t k0 = (bh * k_shape[2] + j) * k_shape[3], v0 = (bh * v_shape[2] + j) * v_shape[3];
      for (std::int64_t d = 0; d < k_shape[3]; ++d)
        put_pattern(k, type, k0 + k_shape[3] + d, pattern_at(k, type, k0 + d));
      for (std::int64_t d = 0; d < v_shape[3]; ++d)
        put_pattern(v, type, v0 + v_shape[3] + d, pattern_at(v, type, v0 + d) ^ sign);
    }
}

Shape bias_shape(const AttentionProblem& p) {
  switch (p.bias) {
    case BiasShape::none:
      return {};
    case BiasShape::qk:
      return {p.Tq, p.Tk};
    case BiasShape::k:
      return {1, p.Tk};
    case BiasShape::bqk:
      return {p.B, p.Tq, p.Tk};
    case BiasShape::b1k:
      return {p.B, 1, p.Tk};
    case BiasShape::bhqk:
      return {p.B, p.H, p.Tq, p.Tk};
    case BiasShape::b11k:
      return {p.B, 1, 1, p.Tk};
    case BiasShape::h11k:
      return {1, p.H, 1, p.Tk};
    case BiasShape::qk1:
      return {p.B, 1, p.Tq, 1};
  }
  return {};
}

SharedBytes make_bias(const AttentionProblem& p, DLDataType type, const Shape& shape, Random random) {
  auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(count(shape)) * (type.bits / 8));
  const std::size_t rank = shape.size();
  for (std::int64_t i = 0; i < count(shape); ++i) {
    const Shape at = coordinates(shape, i);
    const std::int64_t row = at[rank - 2], j = at[rank - 1], b = rank > 2 ? at[0] : 0;
    double x = 0.75 * random.normal();
    switch (p.mask) {
      case Masking::none:
        break;
      case Masking::padding:
        x = j >= p.Tk - 1 - (p.Tk / 3) * (b % 2 + 1) / 2 ? -inf : x;
        break;
      case Masking::holes:
        x = random.below(4) == 0 ? -inf : x;
        break;
      case Masking::rows:
        x = row % 3 == 1 ? -inf : x;
        break;
      case Masking::late:
        x = row % 2 == 1 && j < tile + 3 ? -inf : x;
        break;
    }
    put_pattern(*bytes, type, i, oracle::encode(*oracle_format(type), x));
  }
  return bytes;
}

/// Numbers of at most 12 bits around 1, another for each head, so that their products with numbers of fp8 are of fp32.
SharedBytes make_scales(const Shape& shape, double least, Random random) {
  auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(count(shape)) * 4);
  for (std::int64_t i = 0; i < count(shape); ++i) {
    const double scale = least + 0.37 * static_cast<double>(i % 3) + 0.1 * random.unit();
    put_pattern(*bytes, f32_type, i, oracle::encode(oracle::Format::f32, std::round(scale * 1024) / 1024));
  }
  return bytes;
}

/// Puts special values in place. Positions come from the seed, but for those that a plant fixes by what sees them.
void plant(const AttentionProblem& p, AttentionData& data, Bytes& q, Bytes& k, Bytes& v, Random random) {
  const oracle::Format format = *oracle_format(data.format);
  const auto put = [&](Bytes& bytes, const Shape& shape, std::int64_t position, double x) {
    const std::int64_t bh = random.below(shape[0] * shape[1]);
    const std::int64_t index = (bh * shape[2] + position) * shape[3] + random.below(shape[3]);
    put_pattern(bytes, data.format, index, oracle::encode(format, x));
    return index;
  };
  const auto large = [&](Bytes& bytes, const Shape& shape, std::int64_t position) {
    const std::uint32_t pattern = oracle::encode(format, oracle::largest_finite(format) / 256);
    for (std::int64_t bh = 0; bh < shape[0] * shape[1]; ++bh)
      for (std::int64_t d = 0; d < shape[3]; ++d)
        put_pattern(bytes, data.format, (bh * shape[2] + position) * shape[3] + d, pattern);
  };
  const std::int64_t visible = random.below(p.causal == oracle::Causal::top_left ? std::min(p.Tq, p.Tk) : p.Tk);
  const std::int64_t hidden = p.Tq + random.below(std::max<std::int64_t>(1, p.Tk - p.Tq));  // of top_left
  const std::int64_t masked = p.Tk - 1;                                                     // of padding
  switch (p.plant) {
    case Plant::none:
      break;
    case Plant::nan_query:
      put(q, data.q_shape, random.below(p.Tq), nan);
      break;
    case Plant::nan_key:
      put(k, data.k_shape, visible, nan);
      break;
    case Plant::nan_value:
      put(v, data.v_shape, visible, nan);
      break;
    case Plant::inf_key:
      put(k, data.k_shape, visible, inf);
      break;
    case Plant::inf_value:
      put(v, data.v_shape, visible, -inf);
      break;
    case Plant::opposite_infs: {
      const std::int64_t first = put(v, data.v_shape, visible / 2, inf);
      const std::int64_t other = first + data.v_shape[3] * (p.Tk / 2 - 1);
      put_pattern(v, data.format, other, oracle::encode(format, -inf));
      break;
    }
    case Plant::hidden_nan_key:
      put(k, data.k_shape, hidden, nan);
      break;
    case Plant::hidden_nan_value:
      put(v, data.v_shape, hidden, nan);
      break;
    case Plant::partly_hidden_nan:
      put(v, data.v_shape, p.Tk / 2, nan);
      break;
    case Plant::masked_nan_key:
      put(k, data.k_shape, masked, nan);
      break;
    case Plant::masked_nan_value:
      put(v, data.v_shape, masked, nan);
      break;
    case Plant::partly_hidden_large:
      large(v, data.v_shape, p.Tk / 2);
      break;
    case Plant::masked_large:
      large(k, data.k_shape, masked);
      large(v, data.v_shape, masked);
      break;
    case Plant::nan_key_by_tile:
      for (std::int64_t h = 0; h < p.Hk; ++h) {
        const std::int64_t first = h * tile % p.Tk;
        const std::int64_t j = first + random.below(std::min(tile, p.Tk - first));
        put_pattern(k, data.format, (h * p.Tk + j) * p.D + random.below(p.D), oracle::encode(format, nan));
      }
      break;
  }
}

const char* bias_name(BiasShape bias) {
  constexpr const char* names[] = {"none", "qk", "1k", "bqk", "b1k", "bhqk", "b11k", "1h1k", "b1q1"};
  return names[static_cast<int>(bias)];
}

const char* mask_name(Masking mask) {
  constexpr const char* names[] = {"none", "padding", "holes", "rows", "late"};
  return names[static_cast<int>(mask)];
}

}  // namespace

const char* causal_text(oracle::Causal causal) {
  return causal == oracle::Causal::none ? "none" : causal == oracle::Causal::top_left ? "top_left" : "bottom_right";
}

const char* kind_name(AttentionKind kind) {
  constexpr const char* names[] = {
      "normal", "uniform",   "wide",     "sink",     "cancelling", "constant", "powers",     "anti",    "equal",
      "far",    "tiny",      "largest",  "overflow", "negative",   "markers",  "zero_query", "one_hot", "ones_value",
      "rising", "last_dims", "clusters", "balanced", "decades",    "mixed",    "faint"};
  return names[static_cast<int>(kind)];
}

const char* plant_name(Plant plant) {
  constexpr const char* names[] = {
      "none",           "nan_query",        "nan_key",         "nan_value",           "inf_key",
      "inf_value",      "opposite_infs",    "hidden_nan_key",  "hidden_nan_value",    "partly_hidden_nan",
      "masked_nan_key", "masked_nan_value", "nan_key_by_tile", "partly_hidden_large", "masked_large"};
  return names[static_cast<int>(plant)];
}

std::string problem_name(const AttentionProblem& p) {
  std::string name = fmt::format("B={},H={},Hk={},Tq={},Tk={},D={}", p.B, p.H, p.Hk, p.Tq, p.Tk, p.D);
  if (p.Dv) name += fmt::format(",Dv={}", p.Dv);
  if (p.causal == oracle::Causal::top_left) name += ",causal=top_left";
  if (p.causal == oracle::Causal::bottom_right) name += ",causal=bottom_right";
  if (p.bias != BiasShape::none) name += fmt::format(",bias={}{}", bias_name(p.bias), p.f32_bias ? ".f32" : "");
  if (p.mask != Masking::none) name += fmt::format(",mask={}", mask_name(p.mask));
  if (p.scale != 0) name += fmt::format(",scale={}", p.scale);
  name += fmt::format(",{}", kind_name(p.kind));
  if (p.plant != Plant::none) name += fmt::format(",plant={}", plant_name(p.plant));
  return name;
}

AttentionData make_attention_data(const AttentionProblem& p, DLDataType format, std::uint64_t seed) {
  const std::string name = problem_name(p);
  AttentionData data;
  data.format = format;
  data.q_shape = {p.B, p.H, p.Tq, p.D};
  data.k_shape = {p.B, p.Hk, p.Tk, p.D};
  data.v_shape = {p.B, p.Hk, p.Tk, p.Dv ? p.Dv : p.D};
  data.q = fill(p, format, data.q_shape, Random(seed, name + "/q"),
                [](const AttentionProblem& a, oracle::Format f, std::int64_t i, std::int64_t d, std::int64_t,
                   Random& r) { return query_element(a, f, i, d, r); });
  data.k = fill(p, format, data.k_shape, Random(seed, name + "/k"), key_element);
  data.v = fill(p, format, data.v_shape, Random(seed, name + "/v"),
                [](const AttentionProblem& a, oracle::Format f, std::int64_t j, std::int64_t d, std::int64_t,
                   Random& r) { return value_element(a, f, j, d, r); });
  if (p.kind == cancelling || p.plant != Plant::none) {
    auto q = std::make_shared<Bytes>(*data.q), k = std::make_shared<Bytes>(*data.k),
         v = std::make_shared<Bytes>(*data.v);
    if (p.kind == cancelling) pair_up(*k, *v, data.k_shape, data.v_shape, format);
    plant(p, data, *q, *k, *v, Random(seed, name + "/plant"));
    data.q = q;
    data.k = k;
    data.v = v;
  }
  const bool scaled = same_type(format, e4m3_type);
  if (scaled) {
    data.q_scale = make_scales({p.B, p.H}, 0.5, Random(seed, name + "/q_scale"));
    data.k_scale = make_scales({p.B, p.Hk}, 0.5, Random(seed, name + "/k_scale"));
    data.v_scale = make_scales({p.B, p.Hk}, 0.75, Random(seed, name + "/v_scale"));
  }
  if (p.bias != BiasShape::none) {
    data.bias_shape = bias_shape(p);
    data.bias_format = p.f32_bias || scaled ? f32_type : format;
    data.bias = make_bias(p, data.bias_format, *data.bias_shape, Random(seed, name + "/bias"));
  }
  return data;
}

Call attention_call(const AttentionProblem& p, const AttentionData& data) {
  Call call;
  call.family = data.scaled() ? "attention_scaled" : "attention";
  call.tensors = {input_tensor("q", data.format, data.q_shape, data.q),
                  input_tensor("k", data.format, data.k_shape, data.k),
                  input_tensor("v", data.format, data.v_shape, data.v)};
  if (data.scaled()) {
    call.tensors.push_back(input_tensor("q_scale", f32_type, {p.B, p.H}, data.q_scale));
    call.tensors.push_back(input_tensor("k_scale", f32_type, {p.B, p.Hk}, data.k_scale));
    call.tensors.push_back(input_tensor("v_scale", f32_type, {p.B, p.Hk}, data.v_scale));
  }
  if (data.bias) call.tensors.push_back(input_tensor("bias", data.bias_format, *data.bias_shape, data.bias));
  call.tensors.push_back(output_tensor("o", data.output_format(), {p.B, p.H, p.Tq, data.v_shape[3]}));
  call.tensors.push_back(output_tensor("lse", f32_type, {p.B, p.H, p.Tq}));
  call.params = {text_param("causal", causal_text(p.causal))};
  if (p.scale != 0) call.params.push_back(real_param("scale", p.scale));
  return call;
}

}  // namespace nbx::contracts
