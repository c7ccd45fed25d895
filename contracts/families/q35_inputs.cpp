#include "contracts/families/q35_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "contracts/families/decode_inputs.hpp"
#include "contracts/formats.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t D = 256;
constexpr std::int64_t tile = 64;
constexpr std::int64_t cluster = 32;  // queries of a cluster each see every 32nd key

double query(const Q35Problem& p, std::int64_t row_head, std::int64_t d, Random& random) {
  if (p.kind == Q35Kind::balanced) return d == 0 || d == D - 1 ? 8 : random.sign();
  const double x = random.normal();
  switch (p.kind) {
    case Q35Kind::negative:
    case Q35Kind::rising:
    case Q35Kind::anti:
      return d == 0 ? 8 : 0.5 * x;
    case Q35Kind::last_dims:
      return 2 * d >= D ? 1.5 * x : 0x1p-6 * x;
    case Q35Kind::clusters:
      return d == row_head % cluster ? 48 : 0;
    case Q35Kind::wide:
      return random.sign() * std::ldexp(1 + random.unit(), static_cast<int>(random.below(6)) - 4);
    case Q35Kind::zero_query:
      return 0;
    default:
      return x;
  }
}

double key(const Q35Problem& p, std::int64_t j, std::int64_t d, Random& random) {
  if (p.kind == Q35Kind::balanced) {  // few numbers are drawn: there are very many keys
    if (d == 0) return -40;
    if (d == D - 1) return 8 * static_cast<double>(j) / static_cast<double>(p.keys);
    return d == 1 + j % (D - 2) ? 4 * random.normal() : 0;
  }
  const double x = random.normal();
  const double for_score = 16.0 / 8;  // of component 0, where a query has 8 there
  switch (p.kind) {
    case Q35Kind::negative:
      return d == 0 ? -20 * for_score : 0.5 * x;
    case Q35Kind::anti:
      return d == 0 ? -100 * for_score : 0.5 * x;
    case Q35Kind::rising: {
      const double step = std::min(0.5, 24.0 * tile / static_cast<double>(p.keys));
      return d == 0 ? for_score * step * static_cast<double>(j / tile) : 0.5 * x;
    }
    case Q35Kind::last_dims:
      return 2 * d >= D ? 1.5 * x : 0x1p-6 * x;
    case Q35Kind::clusters:
      return d == j % cluster ? 16 : 0;
    case Q35Kind::wide:
      return random.sign() * std::ldexp(1 + random.unit(), static_cast<int>(random.below(6)) - 4);
    default:
      return x;
  }
}

double value(const Q35Problem& p, std::int64_t j, std::int64_t d, Random& random) {
  if (p.kind == Q35Kind::balanced) return d != j % D ? 0 : j / D % 2 ? 384 : -384;
  const double x = random.normal();
  switch (p.kind) {
    case Q35Kind::wide:
      return random.sign() * std::ldexp(1 + random.unit(), static_cast<int>(random.below(8)) - 6);
    case Q35Kind::clusters:
      return d == j / cluster % D ? 384 : 0.5 * x;
    case Q35Kind::markers: {
      const std::int64_t t = j / tile;
      const auto place = static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(t) + 17) % tile);
      return (j % tile == place || j == p.keys - 1) && d == t % D ? 384 : x;
    }
    default:
      return x;
  }
}

void make_rows(const Q35Problem& p, Q35Data& data) {
  constexpr std::int64_t edges[] = {0, 1, 127, 128, 129, 255, 8191, 8192, 8193};
  for (std::int64_t r = 0; r < p.rows; ++r) {
    std::int64_t stream = 0, limit = 0;
    switch (p.rows_kind) {
      case Q35Rows::window:
        limit = p.keys - p.rows + 1 + r;
        break;
      case Q35Rows::streams:
        stream = r % 4;
        limit = p.keys - 61 * stream - p.rows / 4 + 1 + r / 4;
        break;
      case Q35Rows::chain:
        limit = p.keys - p.rows + 1 + r;
        break;
      case Q35Rows::edges:
        limit = std::min(edges[r % 9], p.keys);
        break;
    }
    data.stream.push_back(stream);
    data.limit.push_back(std::max<std::int64_t>(limit, 0));
  }
}

/// A number of at most 12 bits, so that its product with a power of two or with an fp8 value is an fp32 number.
float scale_of(std::int64_t head, double base, Random& random) {
  return static_cast<float>(std::round((base + 0.37 * static_cast<double>(head % 3) + 0.1 * random.unit()) * 1024) /
                            1024);
}

void plant(const Q35Problem& p, const Q35Data& data, Bytes& k, Bytes& v) {
  const std::uint32_t pattern = oracle::encode(*oracle_format(data.cache), nan);
  const std::int64_t streams = data.kv_shape[0], heads = data.kv_shape[1], capacity = data.kv_shape[2];
  for (std::int64_t s = 0; s < streams; ++s) {
    std::int64_t most = 0;
    for (std::size_t r = 0; r < data.limit.size(); ++r)
      if (data.stream[r] == s) most = std::max(most, data.limit[r]);
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t j = 0; j < capacity; ++j) {
        const std::int64_t at = ((s * heads + h) * capacity + j) * D;
        const bool stale = p.plant == Q35Plant::stale_keys && j >= most;
        if (stale || (p.plant == Q35Plant::nan_chunk && j == 128 + 5)) put_pattern(k, data.cache, at + j % D, pattern);
        if (stale || (p.plant == Q35Plant::nan_value && j == 77)) put_pattern(v, data.cache, at + j % D, pattern);
      }
  }
}

SharedBytes f32_bytes(std::span<const float> values) {
  auto bytes = std::make_shared<Bytes>(values.size() * 4);
  std::memcpy(bytes->data(), values.data(), bytes->size());
  return bytes;
}

}  // namespace

std::int64_t q35_chunk_width(std::int64_t limit) { return limit <= 8192 ? 128 : 128 * ((limit + 8191) / 8192); }

std::int64_t q35_chunks(std::span<const std::int64_t> limits) {
  std::int64_t most = 1;
  for (const std::int64_t limit : limits) {
    const std::int64_t width = q35_chunk_width(limit);
    most = std::max(most, (limit + width - 1) / width);
  }
  return most;
}

Q35Data make_q35_data(const Q35Problem& p, DLDataType cache, std::uint64_t seed) {
  const std::string name = q35_problem_name(p);
  Q35Data data;
  data.cache = cache;
  make_rows(p, data);
  const std::int64_t streams = p.rows_kind == Q35Rows::streams ? 4 : 1;
  data.q_shape = {p.rows, p.H, D};
  data.kv_shape = {streams, p.Hk, p.keys + (p.size_class ? 0 : 9), D};
  const oracle::Format bf16 = oracle::Format::bf16, of_cache = *oracle_format(cache);
  auto q = std::make_shared<Bytes>(static_cast<std::size_t>(count(data.q_shape)) * 2);
  Random random_q(seed, name + "/q");
  for (std::int64_t i = 0; i < count(data.q_shape); ++i)
    put_pattern(*q, bf16_type, i, oracle::encode(bf16, query(p, i / D, i % D, random_q)));
  const std::size_t width = cache.bits / 8;
  auto k = std::make_shared<Bytes>(static_cast<std::size_t>(count(data.kv_shape)) * width),
       v = std::make_shared<Bytes>(static_cast<std::size_t>(count(data.kv_shape)) * width);
  Random random_k(seed, name + "/k"), random_v(seed, name + "/v");
  const std::int64_t capacity = data.kv_shape[2];
  for (std::int64_t i = 0; i < count(data.kv_shape); ++i) {
    const std::int64_t j = i / D % capacity, d = i % D;
    put_pattern(*k, cache, i, oracle::encode(of_cache, key(p, j, d, random_k)));
    put_pattern(*v, cache, i, oracle::encode(of_cache, value(p, j, d, random_v)));
  }
  if (p.kind == Q35Kind::cancelling)
    for (std::int64_t row = 0; row + 1 < count(data.kv_shape) / D; row += 2)
      for (std::int64_t d = 0; d < D; ++d) {
        put_pattern(*k, cache, (row + 1) * D + d, pattern_at(*k, cache, row * D + d));
        put_pattern(*v, cache, (row + 1) * D + d, pattern_at(*v, cache, row * D + d) ^ (1u << (cache.bits - 1)));
      }
  plant(p, data, *k, *v);
  if (cache.bits == 8) {
    Random random(seed, name + "/scales");
    for (std::int64_t h = 0; h < p.Hk; ++h) {
      data.k_scale.push_back(scale_of(h, 0.6, random));
      data.v_scale.push_back(scale_of(h, 0.4, random));
    }
  }
  data.q = q;
  data.k = k;
  data.v = v;
  return data;
}

oracle::RowsFirstInput q35_input(const Q35Data& data) {
  const oracle::Format cache = *oracle_format(data.cache);
  oracle::RowsFirstInput in{.q = {.bytes = *data.q, .format = oracle::Format::bf16, .shape = data.q_shape},
                            .k = {.bytes = *data.k, .format = cache, .shape = data.kv_shape},
                            .v = {.bytes = *data.v, .format = cache, .shape = data.kv_shape},
                            .k_scale = data.k_scale,
                            .v_scale = data.v_scale,
                            .stream = data.stream,
                            .limit = data.limit,
                            .width = {},
                            .chunks = q35_chunks(data.limit)};
  for (const std::int64_t limit : data.limit) in.width.push_back(q35_chunk_width(limit));
  return in;
}

Call q35_call(const Q35Data& data) {
  const std::int64_t rows = data.q_shape[0], H = data.q_shape[1], Hk = data.kv_shape[1];
  const std::int64_t chunks = q35_chunks(data.limit);
  Call call;
  call.family = "q35";
  call.tensors = {input_tensor("q", bf16_type, data.q_shape, data.q),
                  input_tensor("k", data.cache, data.kv_shape, data.k),
                  input_tensor("v", data.cache, data.kv_shape, data.v)};
  if (!data.k_scale.empty()) {
    call.tensors.push_back(input_tensor("k_scale", f32_type, {Hk}, f32_bytes(data.k_scale)));
    call.tensors.push_back(input_tensor("v_scale", f32_type, {Hk}, f32_bytes(data.v_scale)));
  }
  call.tensors.push_back(input_tensor("stream", int32_type, {rows}, int32_bytes(data.stream)));
  call.tensors.push_back(input_tensor("limit", int32_type, {rows}, int32_bytes(data.limit)));
  call.tensors.push_back(output_tensor("o", bf16_type, {rows, H, D}));
  call.tensors.push_back(output_tensor("pm", f32_type, {rows, H, chunks}));
  call.tensors.push_back(output_tensor("pl", f32_type, {rows, H, chunks}));
  call.tensors.push_back(output_tensor("po", f32_type, {rows, H, chunks, D}));
  for (CallTensor& tensor : call.tensors)
    if (tensor.name[0] == 'p') tensor.role = NBX_PARTIAL;
  call.params = {int_param("chunks", chunks)};
  return call;
}

}  // namespace nbx::contracts
