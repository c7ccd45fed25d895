// Ways of asking splash kernels for (part of) the same thing, and calls that they refuse.
#include <fmt/format.h>

#include <limits>

#include "contracts/families/call_edits.hpp"
#include "contracts/families/splash_family.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

/// A part of the problem: batch entries, KV heads with their groups, query blocks.
struct Part {
  std::pair<std::int64_t, std::int64_t> batch, kv_heads, blocks;
};

Part all(const SplashProblem& p) { return {{0, p.B}, {0, p.Hk}, {0, (p.Tq + p.block_q - 1) / p.block_q}}; }

Way part_way(const SplashAsk& ask, std::string name, const Part& part) {
  const SplashProblem& p = ask.problem;
  const std::int64_t group = p.H / p.Hk;
  const std::pair<std::int64_t, std::int64_t> heads{part.kv_heads.first * group, part.kv_heads.second * group};
  const std::pair<std::int64_t, std::int64_t> rows{part.blocks.first * p.block_q, part.blocks.second * p.block_q};
  Way way{.name = std::move(name), .call = ask.call};
  for (CallTensor& tensor : way.call.tensors) {
    const Shape shape = tensor.shape;
    Box box;
    if (tensor.name.starts_with("mk")) {
      box = {{0, 2}, heads, part.blocks};
      if (shape.size() == 4) box.insert(box.begin(), part.batch);
    } else if (tensor.name.starts_with("k") || tensor.name.starts_with("v")) {
      box = {part.batch, part.kv_heads};
      for (std::size_t axis = 2; axis < shape.size(); ++axis) box.emplace_back(0, shape[axis]);
    } else {
      box = {part.batch, heads, tensor.name == "q_norm2" ? part.blocks : rows};
      if (shape.size() == 4) box.emplace_back(0, shape[3]);
    }
    tensor = sliced(tensor, box);
    if (tensor.role != NBX_IN) way.base[tensor.name] = box_indices(shape, box);
  }
  return way;
}

std::vector<Way> blocks_alone(const SplashAsk& ask) {
  std::vector<Way> ways;
  const Part whole = all(ask.problem);
  // A bound of the whole head is not the bound of one block.
  if (whole.blocks.second < 2 || (ask.problem.per_head && makes_metadata(ask.role))) return ways;
  for (std::int64_t i = 0; i < whole.blocks.second; ++i) {
    Part part = whole;
    part.blocks = {i, i + 1};
    ways.push_back(part_way(ask, fmt::format("query block {} alone", i), part));
  }
  return ways;
}

std::vector<Way> batch(const SplashAsk& ask) {
  std::vector<Way> ways;
  const SplashProblem& p = ask.problem;
  for (std::int64_t b = 0; p.B > 1 && b < p.B; ++b) {
    Part part = all(p);
    part.batch = {b, b + 1};
    ways.push_back(part_way(ask, fmt::format("sequence {} alone", b), part));
  }
  for (std::int64_t h = 0; p.Hk > 1 && h < p.Hk; ++h) {
    Part part = all(p);
    part.kv_heads = {h, h + 1};
    ways.push_back(part_way(ask, fmt::format("KV head {} alone", h), part));
  }
  return ways;
}

std::vector<int> natural(const CallTensor& tensor) {
  std::vector<int> order;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) order.push_back(static_cast<int>(i));
  return order;
}

std::vector<Way> views(const SplashAsk& ask) {
  std::vector<Way> ways;
  const auto add = [&](const char* name, auto&& change) {
    Way way = part_way(ask, name, all(ask.problem));
    for (CallTensor& tensor : way.call.tensors) change(tensor);
    ways.push_back(std::move(way));
  };
  add("[B, T, H, D] storage", [&](CallTensor& tensor) {
    std::vector<int> order = natural(tensor);
    if (order.size() == 4 && !tensor.name.starts_with("mk")) std::swap(order[1], order[2]);
    lay_out(tensor, order, 0, 0, 1);
  });
  add("rows 8 apart, 4 elements in", [&](CallTensor& tensor) { lay_out(tensor, natural(tensor), 8, 4, 1); });
  add("every tensor's axes reversed in storage", [&](CallTensor& tensor) {
    const std::vector<int> order = natural(tensor);
    lay_out(tensor, {order.rbegin(), order.rend()}, 0, 0, 1);
  });
  add("size-1 axes with stride 98765", [&](CallTensor& tensor) { lay_out(tensor, natural(tensor), 0, 0, 98765); });
  return ways;
}

/// The keys as the first of longer caches, with poison behind them: the last slice ends at the last key.
std::vector<Way> padded(const SplashAsk& ask) {
  std::vector<Way> ways;
  for (const std::int64_t more : {std::int64_t{1}, std::int64_t{63}}) {
    Way way = part_way(ask, fmt::format("the first keys of caches {} longer", more), all(ask.problem));
    for (const char* name : {"k", "v"}) {
      CallTensor& tensor = *find_tensor(way.call, name);
      const Shape& s = tensor.shape;
      const std::int64_t capacity = s[2] + more;
      tensor.strides = {s[1] * capacity * s[3], capacity * s[3], s[3], 1};
    }
    way.call.poison = Poison::nan;
    ways.push_back(std::move(way));
  }
  return ways;
}

}  // namespace

std::vector<Way> splash_ways(const SplashAsk& ask, std::string_view clause) {
  if (clause == "gate3.rows") return blocks_alone(ask);
  if (clause == "gate3.batch") return batch(ask);
  if (clause == "gate3.view") return views(ask);
  if (clause == "gate3.pad") return padded(ask);
  return {};
}

std::vector<Refusal> splash_refusals(SplashRole role, const Call& good) {
  std::vector<Refusal> out;
  const DLDataType format = find_tensor(good, "q")->dtype;
  const auto add = [&](const char* clause, const char* name, const char* argument, const char* value, auto&& change) {
    Call call = good;
    change(call);
    out.push_back({clause, name, argument, value, std::move(call)});
  };
  using edit::remove, edit::replace;
  const auto set = [](const char* name, std::int64_t value) { return edit::set(int_param(name, value)); };
  const auto heads = [&](std::int64_t n) {
    return [=](Call& call) {
      for (const char* name : {"k", "v"}) replace(name, {1, n, 10, 16})(call);
    };
  };
  const DLDataType other = same_type(format, f32_type) ? f16_type : f32_type;
  add("gate4.head_dim", "q=4x16x16,k=2x10x24", "k", "24", replace("k", {1, 2, 10, 24}));
  add("gate4.heads", "H=4,Hk=3", "k", "3", heads(3));
  add("gate4.heads", "H=4,Hk=8", "k", "8", heads(8));
  add("gate4.kv_shape", "k Tk=10,v Tk=9", "v", "9", replace("v", {1, 2, 9, 16}));
  add("gate4.kv_shape", "q B=1,k B=3", "k", "3", [&](Call& call) {
    for (const char* name : {"k", "v"}) replace(name, {3, 2, 10, 16})(call);
  });
  add("gate4.shape", "q rank 3", "q", "3", replace("q", {4, 16, 16}));
  add("gate4.format", "k in another format", "k", type_name(other).c_str(), replace("k", {1, 2, 10, 16}, other));
  add("gate4.format", "v in int32", "v", "int32", replace("v", {1, 2, 10, 16}, int32_type));
  add("gate4.missing", "no v", "v", "missing", remove("v"));
  add("gate4.unknown", "causal=top_left", "causal", "causal",
      [](Call& call) { call.params.push_back(text_param("causal", "top_left")); });
  add("gate4.unknown", "tensor=bias", "bias", "bias", edit::add(edit::zeros("bias", format, {16, 10})));
  add("gate4.metadata", "no keys", "k", "0", [&](Call& call) {
    for (const char* name : {"k", "v"}) replace(name, {1, 2, 0, 16})(call);
  });
  for (const double v_max : {0.0, -1.0})
    add("gate4.metadata", v_max == 0 ? "v_max=0" : "v_max=-1", "v_max", v_max == 0 ? "0" : "1",
        [=](Call& call) { call.params.push_back(real_param("v_max", v_max)); });
  add("gate4.metadata", "block_q=0", "block_q", "0", set("block_q", 0));
  if (role != SplashRole::metadata) {
    add("gate4.shape", "o with Dv=15", "o", "15", replace("o", {1, 4, 16, 15}));
    add("gate4.missing", "no o", "o", "missing", remove("o"));
  }
  if (role == SplashRole::online) {
    add("gate4.metadata", "fixed_m on a running maximum", "fixed_m", "1", set("fixed_m", 1));
    return out;
  }
  add("gate4.metadata", "q_len no multiple of block_q", "q_len", "16", set("block_q", 5));
  add("gate4.metadata", "fixed_m=0", "fixed_m", "0", set("fixed_m", 0));
  add("gate4.metadata", "uniform without fixed_m", "uniform", "1", [&](Call& call) {
    set("uniform", 1)(call);
    set("fixed_m", 0)(call);
  });
  if (!takes_metadata(role)) return out;
  add("gate4.metadata", "no mk", "mk", "missing", remove("mk"));
  add("gate4.metadata", "no k_mean", "k_mean", "missing", remove("k_mean"));
  add("gate4.metadata", "mk [2, H]", "mk", "block", replace("mk", {2, 4}));
  add("gate4.metadata", "mk of 3 blocks for 2", "mk", "3", replace("mk", {2, 4, 3}));
  add("gate4.metadata", "mk [H, 2, nQ]", "mk", "4", replace("mk", {4, 2, 2}));
  add("gate4.metadata", "mk in int32", "mk", "int32", replace("mk", {2, 4, 2}, int32_type));
  add("gate4.metadata", "k_mean of 24 components", "k_mean", "24", replace("k_mean", {1, 2, 24}));
  add("gate4.metadata", "k_mean of every query head", "k_mean", "4", replace("k_mean", {1, 4, 16}));
  return out;
}

std::vector<Edge> splash_edges(const Call& plain) {
  Call huge = plain;
  for (CallTensor& tensor : huge.tensors)
    if (tensor.name == "k" || tensor.name == "v")
      tensor.strides = {0, (std::int64_t{1} << 31) + 64, tensor.shape[3], 1};
  return {{"gate4.offsets", "k and v with head stride 2^31+64", huge, plain, {}}};
}

}  // namespace nbx::contracts
