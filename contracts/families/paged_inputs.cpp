#include "contracts/families/paged_inputs.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "contracts/formats.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t nowhere = std::int64_t{1} << 30;  // a table entry that leads past every pool

/// All elements `value`.
Bytes filled(const Shape& shape, DLDataType type, double value) {
  Bytes bytes(static_cast<std::size_t>(count(shape)) * (type.bits / 8));
  const std::uint32_t pattern = oracle::encode(*oracle_format(type), value);
  for (std::int64_t i = 0; i < count(shape); ++i) put_pattern(bytes, type, i, pattern);
  return bytes;
}

/// Writes positions [0, length) of sequence b into its pages.
void write_sequence(const Bytes& cache, const Shape& cache_shape, const PagedData& data, std::int64_t b,
                    const Shape& pool_shape, std::size_t width, Bytes& pool) {
  const std::int64_t heads = pool_shape[1], tokens = pool_shape[2];
  const std::size_t row = static_cast<std::size_t>(pool_shape[3]) * width;
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t j = 0; j < data.lengths[static_cast<std::size_t>(b)]; ++j) {
      const std::int64_t page = data.table[static_cast<std::size_t>(b * data.max_pages + j / tokens)];
      const std::int64_t to = (page * heads + h) * tokens + j % tokens;
      const std::int64_t from = (b * heads + h) * cache_shape[2] + j;
      std::memcpy(pool.data() + static_cast<std::size_t>(to) * row, cache.data() + static_cast<std::size_t>(from) * row,
                  row);
    }
}

void put_nan_pages(const PagedProblem& problem, const PagedData& data, DLDataType format, Bytes& k) {
  const AttentionProblem& p = problem.base;
  for (std::int64_t b = 0; b < p.B; ++b) {
    const std::int64_t page = data.table[static_cast<std::size_t>(b * data.max_pages + b)];
    for (std::int64_t h = 0; h < p.Hk; ++h)
      put_pattern(k, format, ((page * p.Hk + h) * problem.page_tokens + 5) * p.D + 1,
                  oracle::encode(*oracle_format(format), nan));
  }
}

}  // namespace

SharedBytes moved_pages(const Bytes& pool, const Shape& shape, DLDataType type, std::span<const std::int64_t> to,
                        std::int64_t pages, double filler) {
  Shape larger = shape;
  larger[0] = pages;
  auto out = std::make_shared<Bytes>(filled(larger, type, filler));
  const std::size_t page = static_cast<std::size_t>(shape[1] * shape[2] * shape[3]) * (type.bits / 8);
  for (std::size_t p = 0; p < to.size(); ++p)
    std::memcpy(out->data() + static_cast<std::size_t>(to[p]) * page, pool.data() + p * page, page);
  return out;
}

PagedData make_paged_data(const PagedProblem& problem, DLDataType format, std::uint64_t seed) {
  const AttentionProblem& p = problem.base;
  PagedData data;
  data.decode = make_decode_data({.base = p, .lengths = Lengths::full, .q_round = problem.q_round}, format, seed);
  for (std::int64_t b = 0; b < p.B; ++b) data.lengths.push_back(paged_length(problem, b));
  if (problem.plant == PagedPlant::taken_back) take_back_halves(p, data.lengths, data.decode.attention);
  // The longest sequence fills its table where it fills its pages, and leaves an entry unused elsewhere; a few pages
  // are nobody's. Pages lie in an order of the seed's.
  data.max_pages = (p.Tk + problem.page_tokens - 1) / problem.page_tokens + (p.Tk % problem.page_tokens == 0 ? 0 : 1);
  const std::int64_t pages = p.B * data.max_pages + 3;
  std::vector<std::int64_t> order(static_cast<std::size_t>(pages));
  std::iota(order.begin(), order.end(), 0);
  Random random(seed, paged_problem_name(problem) + "/pages");
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  std::size_t next = 0;
  for (std::int64_t b = 0; b < p.B; ++b)
    for (std::int64_t page = 0; page < data.max_pages; ++page) {
      const bool used = page * problem.page_tokens < data.lengths[static_cast<std::size_t>(b)];
      const std::int64_t unused = problem.plant == PagedPlant::stale_pages ? nowhere : -1;
      data.table.push_back(!used ? unused : problem.shared && page == 0 ? order.back() : order[next++]);
    }
  data.k_shape = {pages, p.Hk, problem.page_tokens, p.D};
  data.v_shape = {pages, p.Hk, problem.page_tokens, data.decode.attention.v_shape[3]};
  const double stale = problem.plant == PagedPlant::stale_pages ? nan : 1000;
  Bytes k = filled(data.k_shape, format, stale), v = filled(data.v_shape, format, stale);
  const AttentionData& from = data.decode.attention;
  // The last sequence first: of a shared page, what sequence 0 wrote holds.
  for (std::int64_t b = p.B; b-- > 0;) {
    write_sequence(*from.k, from.k_shape, data, b, data.k_shape, format.bits / 8, k);
    write_sequence(*from.v, from.v_shape, data, b, data.v_shape, format.bits / 8, v);
  }
  if (problem.plant == PagedPlant::nan_pages) put_nan_pages(problem, data, format, k);
  data.k = std::make_shared<Bytes>(std::move(k));
  data.v = std::make_shared<Bytes>(std::move(v));
  return data;
}

oracle::PagedInput paged_input(const PagedProblem& problem, const PagedData& data) {
  const oracle::Format format = *oracle_format(data.decode.attention.format);
  oracle::PagedInput in{
      .q = {.bytes = *data.decode.attention.q, .format = format, .shape = data.decode.attention.q_shape},
      .k_pool = {.bytes = *data.k, .format = format, .shape = data.k_shape},
      .v_pool = {.bytes = *data.v, .format = format, .shape = data.v_shape},
      .table = data.table,
      .lengths = data.lengths,
      .max_pages = data.max_pages,
      .scale = {}};
  if (problem.base.scale != 0) in.scale = problem.base.scale;
  return in;
}

Call paged_call(const PagedProblem& problem, const PagedData& data) {
  const AttentionProblem& p = problem.base;
  const DLDataType format = data.decode.attention.format;
  Call call;
  call.family = "paged_decode";
  call.tensors = {
      input_tensor("q", data.decode.q_format, data.decode.attention.q_shape, data.decode.given_q),
      input_tensor("k_pool", format, data.k_shape, data.k),
      input_tensor("v_pool", format, data.v_shape, data.v),
      input_tensor("block_table", int32_type, {p.B, data.max_pages}, int32_bytes(data.table)),
      input_tensor("seq_lens", int32_type, {p.B}, int32_bytes(data.lengths)),
      output_tensor("o", format, {p.B, p.H, 1, data.v_shape[3]}),
      output_tensor("lse", f32_type, {p.B, p.H, 1}),
  };
  std::int64_t longest = 0;
  for (const std::int64_t length : data.lengths) longest = std::max(longest, length);
  call.params = {int_param("max_seq_len", longest)};
  if (p.scale != 0) call.params.push_back(real_param("scale", p.scale));
  if (problem.q_round) call.params.push_back(int_param("q_round", 1));
  return call;
}

}  // namespace nbx::contracts
