// A ring's calls: the plain one, the ways of asking for the same thing, and those that must be refused.
#include <fmt/format.h>

#include "contracts/families/call_edits.hpp"
#include "contracts/families/splash_ring_family.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

CallTensor sharded(CallTensor tensor, int axis) {
  tensor.shard_axis = axis;
  return tensor;
}

/// [heads, ranks · capacity, dim]: each rank's keys, then NaN.
SharedBytes padded(const std::vector<SharedBytes>& shards, DLDataType type, std::int64_t heads, std::int64_t dim,
                   std::int64_t capacity, const std::vector<std::int64_t>& keys) {
  const std::size_t unit = type.bits / 8U, row = static_cast<std::size_t>(dim) * unit;
  auto out = std::make_shared<Bytes>(
      static_cast<std::size_t>(heads) * shards.size() * static_cast<std::size_t>(capacity) * row,
      std::byte{0xFF});  // NaN in every format here
  for (std::size_t head = 0; head < static_cast<std::size_t>(heads); ++head)
    for (std::size_t r = 0; r < shards.size(); ++r) {
      const std::size_t bytes = static_cast<std::size_t>(keys[r]) * row;
      const auto from = shards[r]->begin() + static_cast<std::ptrdiff_t>(head * bytes);
      std::copy(from, from + static_cast<std::ptrdiff_t>(bytes),
                out->begin() +
                    static_cast<std::ptrdiff_t>((head * shards.size() + r) * static_cast<std::size_t>(capacity) * row));
    }
  return out;
}

std::string list_of(const std::vector<std::int64_t>& numbers) { return fmt::format("{}", fmt::join(numbers, ",")); }

/// All outputs, as they are.
void same_outputs(Way& way) {
  for (const CallTensor& tensor : way.call.tensors)
    if (tensor.role != NBX_IN) way.base[tensor.name] = box_indices(tensor.shape, whole(tensor.shape));
}

std::vector<Way> views(const Call& plain) {
  std::vector<Way> ways;
  const auto natural = [](const CallTensor& tensor) {
    std::vector<int> order;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) order.push_back(static_cast<int>(i));
    return order;
  };
  const auto add = [&](const char* name, auto&& change) {
    Way way{.name = name, .call = plain};
    for (CallTensor& tensor : way.call.tensors) change(tensor);
    same_outputs(way);
    ways.push_back(std::move(way));
  };
  add("rows 8 apart, 4 elements in", [&](CallTensor& tensor) { lay_out(tensor, natural(tensor), 8, 4, 1); });
  add("every tensor's axes reversed in storage", [&](CallTensor& tensor) {
    const std::vector<int> order = natural(tensor);
    lay_out(tensor, {order.rbegin(), order.rend()}, 0, 0, 1);
  });
  return ways;
}

/// One batch entry, or one KV head with its group, alone.
std::vector<Way> alone(const SplashRingProblem& p, const Call& plain) {
  std::vector<Way> ways;
  const std::int64_t group = p.whole.H / p.whole.Hk;
  for (const int axis : {0, 1}) {
    const std::int64_t count = axis == 0 ? p.whole.B : p.whole.Hk;
    for (std::int64_t i = 0; count > 1 && i < count; ++i) {
      Way way{.name = fmt::format("{} {} alone", axis == 0 ? "sequence" : "KV head", i), .call = plain};
      for (CallTensor& tensor : way.call.tensors) {
        const std::int64_t each = axis == 1 && (tensor.name == "q" || tensor.name == "o") ? group : 1;
        const Shape shape = tensor.shape;
        Box box = whole(shape);
        box[static_cast<std::size_t>(axis)] = {i * each, (i + 1) * each};
        const int shard = tensor.shard_axis;
        tensor = sharded(sliced(tensor, box), shard);
        if (tensor.role != NBX_IN) way.base[tensor.name] = box_indices(shape, box);
      }
      ways.push_back(std::move(way));
    }
  }
  return ways;
}

/// The norms of all ranks in each rank's hand.
Way gathered(const SplashRingProblem& p, const Call& plain) {
  Way way{.name = p.pregathered ? "norms gathered by the ring" : "norms gathered before", .call = plain};
  for (const char* name : {"k_norm2", "v_ok"}) find_tensor(way.call, name)->shard_axis = p.pregathered ? 0 : -1;
  edit::set(int_param("pregathered", p.pregathered ? 0 : 1))(way.call);
  same_outputs(way);
  return way;
}

}  // namespace

Call ring_call(const SplashRingProblem& p, bool fixed, const SplashRingData& data, std::int64_t capacity) {
  const SplashProblem& w = p.whole;
  const DLDataType format = data.whole.format;
  const std::int64_t Dv = data.whole.v_shape[3], all = capacity * p.ranks, blocks = w.Tq / w.block_q;
  Call call;
  call.family = fixed ? "splash_ring" : "splash_ring_online";
  call.ranks = p.ranks;
  call.tensors = {sharded(input_tensor("q", format, data.whole.q_shape, data.whole.q), 2),
                  sharded(input_tensor("k", format, {w.B, w.Hk, all, w.D},
                                       padded(data.k, format, w.B * w.Hk, w.D, capacity, data.keys)),
                          2),
                  sharded(input_tensor("v", format, {w.B, w.Hk, all, Dv},
                                       padded(data.v, format, w.B * w.Hk, Dv, capacity, data.keys)),
                          2)};
  if (fixed) {
    const Shape shape{p.ranks, w.B, w.Hk};
    call.tensors.push_back(sharded(input_tensor("k_norm2", f32_type, shape, f32_bytes(data.k_norm2)), 0));
    call.tensors.push_back(sharded(input_tensor("v_ok", f32_type, shape, f32_bytes(data.v_ok)), 0));
    if (p.centred)
      call.tensors.push_back(input_tensor("k_mean", f32_type, {w.B, w.Hk, w.D}, f32_bytes(data.whole.k_mean)));
  }
  call.tensors.push_back(sharded(output_tensor("o", format, {w.B, w.H, w.Tq, Dv}), 2));
  call.params = {int_param("block_q", w.block_q), int_param("ring_size", p.ranks)};
  if (w.ftz) call.params.push_back(int_param("ftz", 1));
  bool full = true;
  for (const std::int64_t keys : data.keys) full = full && keys == capacity;
  if (!full) call.params.push_back(text_param("shard_keys", list_of(data.keys)));
  if (!fixed) return call;
  call.tensors.push_back(sharded(output_tensor("mk_made", f32_type, {1 + p.ranks, w.B, 2, w.H, blocks}), 4));
  call.tensors.push_back(sharded(output_tensor("uniform_made", f32_type, {p.ranks}), 0));
  call.params.push_back(text_param("norms", "squared"));
  if (p.pregathered) {
    call.params.push_back(int_param("pregathered", 1));
    for (const char* name : {"k_norm2", "v_ok"}) find_tensor(call, name)->shard_axis = -1;
  }
  return call;
}

std::vector<Way> ring_ways(const SplashRingProblem& p, bool fixed, const SplashRingData& data,
                           std::string_view clause) {
  const Call plain = ring_call(p, fixed, data, data.capacity);
  if (clause == "gate3.view") return views(plain);
  if (clause == "gate3.batch") return alone(p, plain);
  if (clause == "gate3.pair" && fixed) return {gathered(p, plain)};
  std::vector<Way> ways;
  if (clause != "gate3.pad") return ways;
  for (const std::int64_t more : {1, 63}) {
    Way way{.name = fmt::format("shards of room for {} keys more", more),
            .call = ring_call(p, fixed, data, data.capacity + more)};
    same_outputs(way);
    ways.push_back(std::move(way));
  }
  return ways;
}

std::vector<Refusal> ring_refusals(bool fixed, const Call& good) {
  std::vector<Refusal> out;
  const auto add = [&](const char* clause, const char* name, const char* argument, const char* value, auto&& change) {
    Call call = good;
    change(call);
    out.push_back({clause, name, argument, value, std::move(call)});
  };
  /// Keeps the shards, and changes the axes before and behind them.
  const auto reshape = [](const char* name, Shape shape, std::optional<DLDataType> type = {}) {
    return [=](Call& call) {
      const int axis = find_tensor(call, name)->shard_axis;
      edit::replace(name, shape, type)(call);
      find_tensor(call, name)->shard_axis = axis;
    };
  };
  add("gate4.head_dim", "k D=24", "k", "24", reshape("k", {1, 2, 10, 24}));
  add("gate4.heads", "Hk=3", "k", "3", [&](Call& call) {
    for (const char* name : {"k", "v"}) reshape(name, {1, 3, 10, 16})(call);
  });
  add("gate4.kv_shape", "v of 4 keys a shard", "v", "4", reshape("v", {1, 2, 8, 16}));
  add("gate4.format", "v in int32", "v", "int32", reshape("v", {1, 2, 10, 16}, int32_type));
  add("gate4.missing", "no k", "k", "missing", edit::remove("k"));
  add("gate4.missing", "no o", "o", "missing", edit::remove("o"));
  add("gate4.unknown", "per_head", "per_head", "per_head", edit::set(int_param("per_head", 1)));
  add("gate4.ring", "ring_size 3 of 2 ranks", "ring_size", "3", edit::set(int_param("ring_size", 3)));
  add("gate4.ring", "permutation 0,1", "permutation", "0", edit::set(text_param("permutation", "0,1")));
  add("gate4.ring", "permutation of 3", "permutation", "2", edit::set(text_param("permutation", "1,2,0")));
  add("gate4.ring", "no permutation", "permutation", "next", edit::set(text_param("permutation", "next")));
  add("gate4.ring", "6 keys in a shard of 5", "shard_keys", "6", edit::set(text_param("shard_keys", "5,6")));
  add("gate4.ring", "shard_keys of 3 ranks", "shard_keys", "4", edit::set(text_param("shard_keys", "5,5,4")));
  add("gate4.ring", "no keys at all", "shard_keys", "0", edit::set(text_param("shard_keys", "0,0")));
  add("gate4.metadata", "v_max=0", "v_max", "0", edit::set(real_param("v_max", 0)));
  if (!fixed) {
    add("gate4.ring", "fixed_m in both directions", "fixed_m", "1", edit::set(int_param("fixed_m", 1)));
    return out;
  }
  add("gate4.ring", "both directions", "bidirectional", "1", edit::set(int_param("bidirectional", 1)));
  add("gate4.metadata", "fixed_m=0", "fixed_m", "0", edit::set(int_param("fixed_m", 0)));
  add("gate4.metadata", "q_len no multiple of block_q", "q_len", "8", edit::set(int_param("block_q", 5)));
  add("gate4.metadata", "no v_ok", "v_ok", "missing", edit::remove("v_ok"));
  add("gate4.metadata", "no k_norm2", "k_norm2", "missing", edit::remove("k_norm2"));
  add("gate4.metadata", "nothing said of squares", "norms", "missing",
      [](Call& call) { std::erase_if(call.params, [](const Param& one) { return one.name == "norms"; }); });
  add("gate4.metadata", "plain norms", "norms", "plain", edit::set(text_param("norms", "plain")));
  add("gate4.metadata", "k_norm2 of every query head", "k_norm2", "4", reshape("k_norm2", {2, 1, 4}));
  add("gate4.metadata", "v_ok [R, Hk]", "v_ok", "2", reshape("v_ok", {2, 2}));
  add("gate4.metadata", "gathered norms that are one rank's", "k_norm2", "1", edit::set(int_param("pregathered", 1)));
  add("gate4.metadata", "k_mean of 24 components", "k_mean", "24",
      edit::add(edit::zeros("k_mean", f32_type, {1, 2, 24})));
  return out;
}

}  // namespace nbx::contracts
