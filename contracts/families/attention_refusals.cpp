#include "contracts/families/attention_refusals.hpp"

#include <cmath>
#include <limits>

#include "contracts/dense.hpp"
#include "contracts/families/attention_inputs.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

/// The plain call of a small problem: q [1, 4, 6, 16], k and v [1, 2, 10, 16] unless told otherwise.
Call plain(DLDataType format, std::uint64_t seed, AttentionProblem p = {.H = 4, .Hk = 2, .Tq = 6, .Tk = 10, .D = 16}) {
  return attention_call(p, make_attention_data(p, format, seed));
}

CallTensor noise(const char* name, DLDataType type, Shape shape) {
  auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(count(shape)) * (type.bits / 8));
  return input_tensor(name, type, std::move(shape), bytes);
}

}  // namespace

std::vector<Refusal> attention_refusals(DLDataType format, std::uint64_t seed) {
  std::vector<Refusal> out;
  const Call good = plain(format, seed);
  const auto add = [&](const char* clause, const char* name, const char* argument, const char* value, auto&& change) {
    Call call = good;
    change(call);
    out.push_back({clause, name, argument, value, std::move(call)});
  };
  const auto replace = [&](const char* name, Shape shape, std::optional<DLDataType> type = {}) {
    return [=](Call& call) {
      CallTensor& tensor = *find_tensor(call, name);
      const nbx_role role = tensor.role;
      tensor = noise(name, type.value_or(tensor.dtype), shape);
      tensor.role = role;
      if (role != NBX_IN) tensor.data = nullptr;
    };
  };
  const auto bias = [&](Shape shape, DLDataType type) {
    return [=](Call& call) { call.tensors.push_back(noise("bias", type, shape)); };
  };
  const auto scale = [](double value) {
    return [=](Call& call) { call.params.push_back(real_param("scale", value)); };
  };
  const auto remove = [](const char* name) {
    return
        [=](Call& call) { std::erase_if(call.tensors, [&](const CallTensor& tensor) { return tensor.name == name; }); };
  };
  const auto parameter = [](const char* name, std::int64_t value) {
    return [=](Call& call) { call.params.push_back(int_param(name, value)); };
  };
  const DLDataType other = same_type(format, f32_type) ? f16_type : f32_type;
  const bool scaled = same_type(format, e4m3_type);
  const DLDataType of_bias = scaled ? f32_type : format;

  add("gate4.head_dim", "q=4x6x16,k=2x10x24", "k", "24", replace("k", {1, 2, 10, 24}));
  add("gate4.head_dim", "q=4x6x8,k=2x10x16", "q", "8", replace("q", {1, 4, 6, 8}));
  add("gate4.heads", "H=4,Hk=3", "k", "3", [&](Call& call) {
    replace("k", {1, 3, 10, 16})(call);
    replace("v", {1, 3, 10, 16})(call);
  });
  add("gate4.heads", "H=4,Hk=8", "k", "8", [&](Call& call) {
    replace("k", {1, 8, 10, 16})(call);
    replace("v", {1, 8, 10, 16})(call);
  });
  add("gate4.kv_shape", "k B=1,v B=2", "v", "2", replace("v", {2, 2, 10, 16}));
  add("gate4.kv_shape", "k Hk=2,v Hk=4", "v", "4", replace("v", {1, 4, 10, 16}));
  add("gate4.kv_shape", "k Tk=10,v Tk=9", "v", "9", replace("v", {1, 2, 9, 16}));
  add("gate4.kv_shape", "q B=1,k B=3", "k", "3", [&](Call& call) {
    replace("k", {3, 2, 10, 16})(call);
    replace("v", {3, 2, 10, 16})(call);
  });
  add("gate4.shape", "q rank 3", "q", "3", replace("q", {4, 6, 16}));
  add("gate4.shape", "o with Dv=15", "o", "15", replace("o", {1, 4, 6, 15}));
  add("gate4.shape", "o with Tq=7", "o", "7", replace("o", {1, 4, 7, 16}));
  add("gate4.mask", "rank 1", "bias", "1", bias({10}, of_bias));
  add("gate4.mask", "rank 5", "bias", "5", bias({1, 1, 1, 6, 10}, of_bias));
  add("gate4.mask", "6x11 for 6x10", "bias", "11", bias({6, 11}, of_bias));
  add("gate4.mask", "5x10 for 6x10", "bias", "5", bias({5, 10}, of_bias));
  add("gate4.mask", "heads 2 of 4", "bias", "2", bias({1, 2, 6, 10}, of_bias));
  add("gate4.mask", "int32", "bias", "int32", bias({6, 10}, int32_type));
  add("gate4.scale", "scale=nan", "scale", "nan", scale(std::nan("")));
  add("gate4.scale", "scale=inf", "scale", "inf", scale(std::numeric_limits<double>::infinity()));
  add("gate4.format", "k in another format", "k", type_name(other).c_str(), replace("k", {1, 2, 10, 16}, other));
  add("gate4.format", "o in int32", "o", "int32", replace("o", {1, 4, 6, 16}, int32_type));
  if (scaled) {
    add("gate4.shape", "q_scale rank 1", "q_scale", "1", replace("q_scale", {4}));
    add("gate4.shape", "q_scale of 2 heads", "q_scale", "2", replace("q_scale", {1, 2}));
    add("gate4.shape", "k_scale of every query head", "k_scale", "4", replace("k_scale", {1, 4}));
    add("gate4.shape", "v_scale of another batch", "v_scale", "3", replace("v_scale", {3, 2}));
    add("gate4.format", "k_scale in bf16", "k_scale", "bf16", replace("k_scale", {1, 2}, bf16_type));
    add("gate4.format", "o in e4m3", "o", "e4m3", replace("o", {1, 4, 6, 16}, e4m3_type));
    add("gate4.mask", "bias in e4m3", "bias", "e4m3", bias({6, 10}, e4m3_type));
    add("gate4.missing", "no v_scale", "v_scale", "missing", remove("v_scale"));
  }
  add("gate4.missing", "no v", "v", "missing", remove("v"));
  add("gate4.missing", "no o", "o", "missing", remove("o"));
  add("gate4.causal", "causal=diagonal", "causal", "diagonal",
      [](Call& call) { call.params = {text_param("causal", "diagonal")}; });
  add("gate4.unknown", "window=128", "window", "window", parameter("window", 128));
  add("gate4.unknown", "soft_cap=30", "soft_cap", "soft_cap", parameter("soft_cap", 30));
  add("gate4.unknown", "tensor=sinks", "sinks", "sinks",
      [](Call& call) { call.tensors.push_back(noise("sinks", f32_type, {4})); });
  return out;
}

std::vector<Edge> attention_edges(DLDataType format, std::uint64_t seed) {
  std::vector<Edge> out;
  const auto bytes = [](std::int64_t n, std::uint32_t pattern, DLDataType type) {
    Bytes b(static_cast<std::size_t>(n) * (type.bits / 8));
    for (std::int64_t i = 0; i < n; ++i) put_pattern(b, type, i, pattern);
    return b;
  };
  constexpr std::uint32_t minus_inf = 0xFF800000;
  const DLDataType output = same_type(format, e4m3_type) ? bf16_type : format;
  out.push_back(
      {"gate4.empty", "B=0", plain(format, seed, {.B = 0, .H = 2, .Tq = 3, .Tk = 5, .D = 8}), {}, {Bytes{}, Bytes{}}});
  out.push_back(
      {"gate4.empty", "Tq=0", plain(format, seed, {.H = 2, .Tq = 0, .Tk = 5, .D = 8}), {}, {Bytes{}, Bytes{}}});
  out.push_back({"gate4.empty",
                 "Tk=0",
                 plain(format, seed, {.H = 2, .Tq = 3, .Tk = 0, .D = 8}),
                 {},
                 {bytes(2 * 3 * 8, 0, output), bytes(2 * 3, minus_inf, f32_type)}});
  // Two tensors at a time pass 2^31 elements: on a device each takes gigabytes.
  const AttentionProblem few{.H = 2, .Tq = 6, .Tk = 10, .D = 16};
  const Call ordinary = plain(format, seed, few);
  Call huge = ordinary;
  for (const char* name : {"q", "o"}) {
    CallTensor& tensor = *find_tensor(huge, name);
    tensor.strides = {0, (std::int64_t{1} << 31) + 64, tensor.shape[3], 1};
  }
  out.push_back({"gate4.offsets", "q and o with head stride 2^31+64", huge, ordinary, {}});
  huge = ordinary;
  for (const char* name : {"k", "v"}) {
    CallTensor& tensor = *find_tensor(huge, name);
    tensor.strides = {0, 0, (std::int64_t{1} << 28) + 64, 1};
  }
  out.push_back({"gate4.offsets", "k and v with key stride 2^28+64", huge, ordinary, {}});
  return out;
}

}  // namespace nbx::contracts
