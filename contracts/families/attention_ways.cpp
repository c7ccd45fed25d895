#include "contracts/families/attention_ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

using oracle::Causal;

/// A part of the problem: batch entries, KV heads with their groups, query rows, and the first keys.
struct Part {
  std::pair<std::int64_t, std::int64_t> batch, kv_heads, rows;
  std::int64_t keys;
};

Part all(const AttentionProblem& p) { return {{0, p.B}, {0, p.Hk}, {0, p.Tq}, p.Tk}; }

void set_causal(Call& call, Causal causal) {
  for (Param& param : call.params)
    if (param.name == "causal") param.text = causal_text(causal);
}

/// The box of a bias of rank 2, 3 or 4: size-1 axes stay.
Box bias_box(const Shape& shape, const Part& part, std::int64_t group) {
  const std::pair<std::int64_t, std::int64_t> heads{part.kv_heads.first * group, part.kv_heads.second * group};
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges{part.rows, {0, part.keys}};
  if (shape.size() == 3) ranges.insert(ranges.begin(), part.batch);
  if (shape.size() == 4) ranges.insert(ranges.begin(), {part.batch, heads});
  Box box;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    box.push_back(shape[axis] == 1 ? std::pair<std::int64_t, std::int64_t>{0, 1} : ranges[axis]);
  return box;
}

Way part_way(const AttentionAsk& ask, std::string name, const Part& part, Causal causal) {
  const AttentionProblem& p = ask.problem;
  const std::int64_t group = p.H / p.Hk;
  const std::pair<std::int64_t, std::int64_t> heads{part.kv_heads.first * group, part.kv_heads.second * group};
  Way way{.name = std::move(name), .call = ask.call};
  for (CallTensor& tensor : way.call.tensors) {
    const Shape shape = tensor.shape;
    Box box;
    if (tensor.name == "bias") {
      box = bias_box(shape, part, group);
    } else if (tensor.name == "k" || tensor.name == "v") {
      box = {part.batch, part.kv_heads, {0, part.keys}, {0, shape[3]}};
    } else if (shape.size() == 2) {  // a scale for each head
      box = {part.batch, tensor.name == "q_scale" ? heads : part.kv_heads};
    } else {
      box = {part.batch, heads, part.rows};
      if (shape.size() == 4) box.emplace_back(0, shape[3]);
    }
    tensor = sliced(tensor, box);
    if (tensor.role != NBX_IN) way.base[tensor.name] = box_indices(shape, box);
  }
  set_causal(way.call, causal);
  return way;
}

/// How many keys row i may see by causality; at most 0: none.
std::int64_t limit(const AttentionProblem& p, std::int64_t row) {
  switch (p.causal) {
    case Causal::none:
      return p.Tk;
    case Causal::top_left:
      return std::min(p.Tk, row + 1);
    case Causal::bottom_right:
      return std::min(p.Tk, row + 1 + p.Tk - p.Tq);
  }
  return p.Tk;
}

/// Rows [first, last) in a call of their own, which sees the same keys: the keys end where the last row's do, and
/// bottom-right causality then gives each earlier row its own limit. Nothing where a row of them sees no key at all
/// (no call can say so) or where limits stop rising within (top-left past the last key).
void add_rows(const AttentionAsk& ask, std::int64_t first, std::int64_t last, std::vector<Way>& ways) {
  const AttentionProblem& p = ask.problem;
  last = std::min(last, p.Tq);
  if (first >= last || (first == 0 && last == p.Tq && p.causal == Causal::none)) return;
  Part part = all(p);
  part.rows = {first, last};
  Causal causal = Causal::none;
  if (p.causal != Causal::none) {
    const std::int64_t low = limit(p, first), high = limit(p, last - 1);
    if (low < 1) return;
    if (high - low == last - 1 - first)
      causal = Causal::bottom_right;
    else if (high != low)
      return;
    part.keys = high;
  }
  const std::string name =
      last - first == 1 ? fmt::format("row {} alone", first) : fmt::format("rows {}-{} alone", first, last - 1);
  ways.push_back(part_way(ask, name, part, causal));
}

std::vector<Way> rows(const AttentionAsk& ask) {
  const AttentionProblem& p = ask.problem;
  std::vector<Way> ways;
  const std::int64_t singles = ask.full ? p.Tq : std::min<std::int64_t>(p.Tq, 10);
  for (std::int64_t i = 0; i < singles; ++i) {
    const std::int64_t row = i + 1 == singles ? p.Tq - 1 : i * p.Tq / singles;
    if (p.Tq > 1) add_rows(ask, row, row + 1, ways);
  }
  for (const std::int64_t window : {12, 16, 128})
    for (std::int64_t first = 0; first < p.Tq; first += window) {
      add_rows(ask, first, first + window, ways);
      if (!ask.full && first == window) first = std::max(first, (p.Tq - 1) / window * window - window);
    }
  return ways;
}

std::vector<Way> batch(const AttentionAsk& ask) {
  const AttentionProblem& p = ask.problem;
  std::vector<Way> ways;
  for (std::int64_t b = 0; p.B > 1 && b < p.B; ++b) {
    Part part = all(p);
    part.batch = {b, b + 1};
    ways.push_back(part_way(ask, fmt::format("sequence {} alone", b), part, p.causal));
  }
  for (std::int64_t h = 0; p.Hk > 1 && h < p.Hk; ++h) {
    Part part = all(p);
    part.kv_heads = {h, h + 1};
    ways.push_back(part_way(ask, fmt::format("KV head {} alone", h), part, p.causal));
  }
  return ways;
}

/// Key and value heads repeated for each query head of their group: the same product without GQA.
std::vector<Way> expanded(const AttentionAsk& ask) {
  const AttentionProblem& p = ask.problem;
  const std::int64_t group = p.H / p.Hk;
  if (group == 1) return {};
  Way way = part_way(ask, "K and V expanded to every query head", all(p), p.causal);
  for (const char* name : {"k", "v", "k_scale", "v_scale"})
    if (CallTensor* const tensor = find_tensor(way.call, name)) repeat(*tensor, 1, group);
  return {std::move(way)};
}

std::vector<Way> views(const AttentionAsk& ask) {
  const AttentionProblem& p = ask.problem;
  std::vector<Way> ways;
  const auto add = [&](const char* name, auto&& change) {
    Way way = part_way(ask, name, all(p), p.causal);
    for (CallTensor& tensor : way.call.tensors) change(tensor);
    ways.push_back(std::move(way));
  };
  const auto natural = [](const CallTensor& tensor) {
    std::vector<int> order;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) order.push_back(static_cast<int>(i));
    return order;
  };
  add("[B, T, H, D] storage", [&](CallTensor& tensor) {
    std::vector<int> order = natural(tensor);
    if (order.size() == 4 && tensor.name != "bias") std::swap(order[1], order[2]);
    lay_out(tensor, order, 0, 0, 1);
  });
  add("rows 8 apart, 4 elements in", [&](CallTensor& tensor) { lay_out(tensor, natural(tensor), 8, 4, 1); });
  add("K and V transposed in storage", [&](CallTensor& tensor) {
    std::vector<int> order = natural(tensor);
    if (tensor.name == "k" || tensor.name == "v") std::swap(order[2], order[3]);
    lay_out(tensor, order, 0, 0, 1);
  });
  add("size-1 axes with stride 98765", [&](CallTensor& tensor) { lay_out(tensor, natural(tensor), 0, 0, 98765); });
  add("a prefix of every second sequence of a larger cache", [&](CallTensor& tensor) {
    if (tensor.name != "k" && tensor.name != "v") return;
    const Shape& s = tensor.shape;
    const std::int64_t capacity = s[2] + 37;
    tensor.strides = {2 * s[1] * capacity * s[3], capacity * s[3], s[3], 1};
  });
  if (p.Hk == 1 && p.H > 1) {
    // One KV head read by every query head through a stride of 0: the call has Hk = H and the storage one head.
    std::vector<Way> wide = expanded(ask);
    for (Way& way : wide) {
      way.name = "one KV head broadcast by stride 0";
      for (const char* name : {"k", "v"}) {
        CallTensor& tensor = *find_tensor(way.call, name);
        const Shape& s = tensor.shape;
        tensor.strides = {s[2] * s[3], 0, s[3], 1};
      }
      ways.push_back(std::move(way));
    }
  }
  return ways;
}

/// More keys under a bias of -inf, with large finite keys and values behind it: they must not show.
std::vector<Way> padded(const AttentionAsk& ask) {
  const AttentionProblem& p = ask.problem;
  std::vector<Way> ways;
  if (p.causal == Causal::bottom_right) return ways;  // more keys would move its diagonal
  for (const std::int64_t more : {std::int64_t{3}, std::int64_t{64}}) {
    Way way = part_way(ask, fmt::format("{} more keys under a bias of -inf", more), all(p), p.causal);
    for (const char* name : {"k", "v"}) {
      CallTensor& tensor = *find_tensor(way.call, name);
      lengthen(tensor, 2, more, oracle::encode(*oracle_format(tensor.dtype), 1000));
    }
    const CallTensor* old = find_tensor(ask.call, "bias");
    const Shape shape = old ? old->shape : Shape{1, p.Tk};
    const DLDataType own = find_tensor(ask.call, "q")->dtype;
    const DLDataType type = old ? old->dtype : same_type(own, e4m3_type) ? f32_type : own;  // one that has -inf
    Shape to = shape;
    to.back() = p.Tk + more;
    auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(count(to)) * (type.bits / 8));
    const std::uint32_t minus_inf = oracle::encode(*oracle_format(type), -std::numeric_limits<double>::infinity());
    for (std::int64_t i = 0; i < count(to); ++i) {
      const std::int64_t row = i / to.back(), j = i % to.back();
      std::uint32_t pattern = j < p.Tk ? 0 : minus_inf;
      if (old && j < p.Tk) pattern = pattern_at(*old->data, type, row * shape.back() + (shape.back() == 1 ? 0 : j));
      put_pattern(*bytes, type, i, pattern);
    }
    std::erase_if(way.call.tensors, [](const CallTensor& tensor) { return tensor.name == "bias"; });
    way.call.tensors.push_back(input_tensor("bias", type, to, bytes));
    ways.push_back(std::move(way));
  }
  return ways;
}

}  // namespace

std::vector<Way> attention_ways(const AttentionAsk& ask, std::string_view clause) {
  if (clause == "gate3.rows") return rows(ask);
  if (clause == "gate3.batch") return batch(ask);
  if (clause == "gate3.view") return views(ask);
  if (clause == "gate3.pad") return padded(ask);
  if (clause == "gate3.pair") return expanded(ask);
  return {};
}

}  // namespace nbx::contracts
