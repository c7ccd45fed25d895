#include "contracts/families/q35_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "contracts/families/call_edits.hpp"
#include "contracts/families/decode_inputs.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

constexpr std::int64_t D = 256;

bool of_rows(const CallTensor& tensor) {
  return tensor.name != "k" && tensor.name != "v" && tensor.name != "k_scale" && tensor.name != "v_scale";
}

/// Rows [first, last) alone, in as many chunks as they have.
Way rows_alone(const Q35Data& data, const Call& call, std::int64_t first, std::int64_t last) {
  Way way{
      .name = last - first == 1 ? fmt::format("row {} alone", first) : fmt::format("rows {}-{} alone", first, last - 1),
      .call = call};
  const std::int64_t chunks = q35_chunks(
      std::span(data.limit).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)));
  for (CallTensor& tensor : way.call.tensors) {
    if (!of_rows(tensor)) continue;
    const Shape shape = tensor.shape;
    Box box = whole(shape);
    box[0] = {first, last};
    if (tensor.role == NBX_PARTIAL) box[2].second = chunks;
    tensor = sliced(tensor, box);
    if (tensor.role != NBX_IN) way.base[tensor.name] = box_indices(shape, box);
  }
  edit::set(int_param("chunks", chunks))(way.call);
  return way;
}

/// Only the rows of stream s, which is then the only stream.
Way stream_alone(const Q35Data& data, const Call& call, std::int64_t s) {
  Way way{.name = fmt::format("stream {} alone", s), .call = call};
  std::vector<std::int64_t> rows;
  for (std::size_t r = 0; r < data.stream.size(); ++r)
    if (data.stream[r] == s) rows.push_back(static_cast<std::int64_t>(r));
  for (CallTensor& tensor : way.call.tensors) {
    const Shape shape = tensor.shape;
    if (tensor.name == "k" || tensor.name == "v") {
      Box box = whole(shape);
      box[0] = {s, s + 1};
      tensor = sliced(tensor, box);
    } else if (of_rows(tensor)) {
      std::vector<std::int64_t> indices;
      for (const std::int64_t r : rows) {
        Box box = whole(shape);
        box[0] = {r, r + 1};
        const std::vector<std::int64_t> one = box_indices(shape, box);
        indices.insert(indices.end(), one.begin(), one.end());
      }
      if (tensor.role == NBX_IN) tensor.data = take(*tensor.data, tensor.dtype.bits / 8, indices);
      tensor.shape[0] = static_cast<std::int64_t>(rows.size());
      if (tensor.role != NBX_IN) way.base[tensor.name] = std::move(indices);
    }
  }
  find_tensor(way.call, "stream")->data = int32_bytes(std::vector<std::int64_t>(rows.size(), 0));
  return way;
}

std::vector<Way> views(const Call& call) {
  std::vector<Way> ways;
  const auto add = [&](const char* name, std::int64_t gap, std::int64_t offset, std::int64_t odd, int swap) {
    Way way{.name = name, .call = call};
    for (CallTensor& tensor : way.call.tensors) {
      std::vector<int> order(tensor.shape.size());
      std::iota(order.begin(), order.end(), 0);
      if (order.size() == 4) std::swap(order[static_cast<std::size_t>(swap)], order[2]);
      lay_out(tensor, order, gap, offset, odd);
      if (tensor.role != NBX_IN) way.base[tensor.name] = box_indices(tensor.shape, whole(tensor.shape));
    }
    ways.push_back(std::move(way));
  };
  add("heads inside positions", 0, 0, 1, 1);
  add("caches transposed in storage", 0, 0, 1, 3);
  add("rows 8 apart, 4 elements in", 8, 4, 1, 2);
  add("size-1 axes with stride 98765", 0, 0, 98765, 2);
  return ways;
}

}  // namespace

std::vector<Way> q35_ways(const Q35Data& data, const Call& call, bool full, std::string_view clause) {
  std::vector<Way> ways;
  const std::int64_t rows = data.q_shape[0];
  if (clause == "gate3.rows" && rows > 1) {
    for (std::int64_t r = 0; r < rows; r += full ? 1 : std::max<std::int64_t>(1, rows / 4))
      ways.push_back(rows_alone(data, call, r, r + 1));
    ways.push_back(rows_alone(data, call, rows - 1, rows));
    ways.push_back(rows_alone(data, call, 0, rows / 2));
    ways.push_back(rows_alone(data, call, rows / 2, rows));
  }
  if (clause == "gate3.batch" && data.kv_shape[0] > 1)
    for (std::int64_t s = 0; s < data.kv_shape[0]; ++s) ways.push_back(stream_alone(data, call, s));
  if (clause == "gate3.view") ways = views(call);
  return ways;
}

std::vector<Refusal> q35_refusals(DLDataType cache, std::uint64_t seed) {
  // q [2, 4, 256], k and v [1, 2, 309, 256], 3 chunks.
  constexpr Q35Problem small{.rows = 2, .keys = 300, .H = 4, .Hk = 2};
  const Call good = q35_call(make_q35_data(small, cache, seed));
  std::vector<Refusal> out;
  const auto add = [&](const char* clause, const char* name, const char* argument, const char* value, auto&& change,
                       bool in_table = false) {
    Call call = good;
    change(call);
    out.push_back({clause, name, argument, value, std::move(call), in_table});
  };
  const auto both = [](auto first, auto second) {
    return [=](Call& call) {
      first(call);
      second(call);
    };
  };
  const auto table = [](const char* name, std::int64_t a, std::int64_t b) {
    return edit::fill(name, int32_bytes(std::vector<std::int64_t>{a, b}));
  };
  using edit::replace;
  add("gate4.head_dim", "q of 128", "q", "128", replace("q", {2, 4, 128}));
  add("gate4.head_dim", "k of 128", "k", "128", replace("k", {1, 2, 309, 128}));
  add("gate4.heads", "H=4,Hk=3", "k", "3", both(replace("k", {1, 3, 309, D}), replace("v", {1, 3, 309, D})));
  add("gate4.kv_shape", "v of 310 keys", "v", "310", replace("v", {1, 2, 310, D}));
  add("gate4.kv_shape", "v of 2 streams", "v", "2", replace("v", {2, 2, 309, D}));
  add("gate4.lengths", "limit of 3 rows", "limit", "3", replace("limit", {3}));
  add("gate4.lengths", "limit in f32", "limit", "f32", replace("limit", {2}, f32_type));
  add("gate4.lengths", "a limit of 310", "limit", "310", table("limit", 3, 310), true);
  add("gate4.lengths", "a limit of -1", "limit", "-1", table("limit", -1, 3), true);
  add("gate4.table", "stream of 3 rows", "stream", "3", replace("stream", {3}));
  add("gate4.table", "a stream of 1", "stream", "1", table("stream", 0, 1), true);
  add("gate4.table", "a stream of -1", "stream", "-1", table("stream", -1, 0), true);
  add("gate4.chunks", "chunks=0", "chunks", "0", edit::set(int_param("chunks", 0)));
  add("gate4.chunks", "chunks=65", "chunks", "65", edit::set(int_param("chunks", 65)));
  add("gate4.format", "q in f32", "q", "f32", replace("q", {2, 4, D}, f32_type));
  add("gate4.format", "v in f16", "v", "f16", replace("v", {1, 2, 309, D}, f16_type));
  add("gate4.missing", "no limit", "limit", "missing", edit::remove("limit"));
  add("gate4.unknown", "scale=2", "scale", "scale", edit::set(real_param("scale", 2)));
  if (cache.bits == 8) {
    add("gate4.scale", "no v_scale", "v_scale", "missing", edit::remove("v_scale"));
    add("gate4.scale", "k_scale of 3 heads", "k_scale", "3", replace("k_scale", {3}));
    add("gate4.scale", "k_scale in bf16", "k_scale", "bf16", replace("k_scale", {2}, bf16_type));
  } else {
    add("gate4.scale", "k_scale of a bf16 cache", "k_scale", "k_scale",
        edit::add(edit::zeros("k_scale", f32_type, {2})));
  }
  return out;
}

std::vector<Edge> q35_edges(DLDataType cache, std::uint64_t seed) {
  std::vector<Edge> out;
  // More rows than an axis y or z of a grid holds. Each sees one key, so its output is that key's value, by bits.
  constexpr std::int64_t rows = 70'000;
  constexpr Q35Problem small{.rows = 1, .keys = 8, .H = 1, .Hk = 1};
  Q35Data data = make_q35_data(small, cache, seed);
  const Bytes row = *data.q;
  auto q = std::make_shared<Bytes>();
  q->reserve(static_cast<std::size_t>(rows) * row.size());
  for (std::int64_t r = 0; r < rows; ++r) q->insert(q->end(), row.begin(), row.end());
  data.q = q;
  data.q_shape[0] = rows;
  data.stream.assign(rows, 0);
  data.limit.assign(rows, 1);
  if (cache.bits == 8) data.v_scale = {0.5f};
  Bytes value_row(static_cast<std::size_t>(D) * 2), o;
  for (std::int64_t d = 0; d < D; ++d) {
    const double value = value_at(*data.v, cache, d) * (cache.bits == 8 ? 0.5 : 1.0);
    put_pattern(value_row, bf16_type, d, oracle::encode(oracle::Format::bf16, value + 0.0));
  }
  o.reserve(static_cast<std::size_t>(rows) * value_row.size());
  for (std::int64_t r = 0; r < rows; ++r) o.insert(o.end(), value_row.begin(), value_row.end());
  Call call = q35_call(data);
  std::erase_if(call.tensors, [](const CallTensor& tensor) { return tensor.role == NBX_PARTIAL; });
  for (const std::int64_t chunks_first : {0, 1}) {
    call.launch.options = {int_param("chunks_first", chunks_first)};
    out.push_back({"gate4.grid", fmt::format("70,000 rows, chunks_first={}", chunks_first), call, {}, {o}});
  }
  return out;
}

}  // namespace nbx::contracts
