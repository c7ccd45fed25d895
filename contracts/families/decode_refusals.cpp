#include "contracts/families/decode_refusals.hpp"

#include <cmath>
#include <limits>

#include "contracts/families/call_edits.hpp"
#include "contracts/families/decode_family.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

/// q [2, 4, 1, 16], k and v [2, 2, 10, 16], seq_lens [2].
constexpr DecodeProblem small{.base = {.B = 2, .H = 4, .Hk = 2, .Tk = 10, .D = 16}, .lengths = Lengths::full};

SharedBytes lengths(std::int64_t first, std::int64_t second) {
  return int32_bytes(std::vector<std::int64_t>{first, second});
}

}  // namespace

std::vector<Refusal> decode_refusals(DLDataType format, std::uint64_t seed) {
  std::vector<Refusal> out;
  const Call good = decode_call(small, make_decode_data(small, format, seed));
  const auto add = [&](const char* clause, const char* name, const char* argument, const char* value, auto&& change,
                       bool in_table = false) {
    Call call = good;
    change(call);
    out.push_back({clause, name, argument, value, std::move(call), in_table});
  };
  using namespace edit;
  const DLDataType other = same_type(format, f32_type) ? f16_type : f32_type;
  const auto bias = [&](Shape shape, DLDataType type) { return edit::add(zeros("bias", type, std::move(shape))); };
  const auto both = [](auto first, auto second) {
    return [=](Call& call) {
      first(call);
      second(call);
    };
  };

  add("gate4.shape", "Tq=3", "q", "3", both(replace("q", {2, 4, 3, 16}), replace("o", {2, 4, 3, 16})));
  add("gate4.shape", "o=2x4x1x8", "o", "8", replace("o", {2, 4, 1, 8}));
  add("gate4.head_dim", "q=2x4x1x16,k=2x2x10x24", "k", "24", replace("k", {2, 2, 10, 24}));
  add("gate4.heads", "H=4,Hk=3", "k", "3", both(replace("k", {2, 3, 10, 16}), replace("v", {2, 3, 10, 16})));
  add("gate4.kv_shape", "k=2x2x10x16,v=2x2x11x16", "v", "11", replace("v", {2, 2, 11, 16}));
  add("gate4.kv_shape", "k=2x2x10x16,v=3x2x10x16", "v", "3", replace("v", {3, 2, 10, 16}));
  add("gate4.kv_shape", "k of 3 sequences", "k", "3", replace("k", {3, 2, 10, 16}));
  add("gate4.mask", "bias of each sequence", "bias", "2", bias({2, 1, 1, 10}, format));
  add("gate4.mask", "bias of each head", "bias", "4", bias({1, 4, 1, 10}, format));
  add("gate4.mask", "bias of 11 keys", "bias", "11", bias({1, 11}, format));
  add("gate4.mask", "bias in int32", "bias", "int32", bias({1, 10}, int32_type));
  add("gate4.lengths", "seq_lens of 3", "seq_lens", "3", replace("seq_lens", {3}));
  add("gate4.lengths", "seq_lens in f32", "seq_lens", "f32", replace("seq_lens", {2}, f32_type));
  add("gate4.lengths", "a length of 11", "seq_lens", "11", fill("seq_lens", lengths(3, 11)), true);
  add("gate4.lengths", "a length of -1", "seq_lens", "-1", fill("seq_lens", lengths(-1, 3)), true);
  add("gate4.scale", "scale=nan", "scale", "nan", set(real_param("scale", std::nan(""))));
  add("gate4.scale", "scale=inf", "scale", "inf", set(real_param("scale", std::numeric_limits<double>::infinity())));
  add("gate4.format", "k in another format", "k", type_name(other).c_str(), replace("k", {2, 2, 10, 16}, other));
  add("gate4.format", "q in another format", "q", type_name(other).c_str(), replace("q", {2, 4, 1, 16}, other));
  add("gate4.format", "q_round=2", "q_round", "2", set(int_param("q_round", 2)));
  add("gate4.missing", "no v", "v", "missing", remove("v"));
  add("gate4.missing", "no o", "o", "missing", remove("o"));
  add("gate4.causal", "causal=diagonal", "causal", "diagonal", set(text_param("causal", "diagonal")));
  add("gate4.unknown", "window=128", "window", "window", set(int_param("window", 128)));
  add("gate4.unknown", "tensor=sinks", "sinks", "sinks", edit::add(zeros("sinks", f32_type, {4})));
  return out;
}

std::vector<Edge> decode_edges(DLDataType format, std::uint64_t seed) {
  std::vector<Edge> out;
  const auto call_of = [&](const DecodeProblem& problem) {
    return decode_call(problem, make_decode_data(problem, format, seed));
  };
  const auto bytes = [](std::int64_t n, std::uint32_t pattern, DLDataType type) {
    Bytes b(static_cast<std::size_t>(n) * (type.bits / 8));
    for (std::int64_t i = 0; i < n; ++i) put_pattern(b, type, i, pattern);
    return b;
  };
  constexpr std::uint32_t minus_inf = 0xFF800000;
  out.push_back({"gate4.empty", "B=0", call_of({.base = {.B = 0, .H = 2, .Tk = 5, .D = 8}}), {}, {Bytes{}, Bytes{}}});
  out.push_back({"gate4.empty",
                 "Tk=0",
                 call_of({.base = {.H = 2, .Tk = 0, .D = 8}}),
                 {},
                 {bytes(2 * 8, 0, format), bytes(2, minus_inf, f32_type)}});
  const Call ordinary = call_of(small);
  Call huge = ordinary;
  for (const char* name : {"q", "o"}) {
    CallTensor& tensor = *find_tensor(huge, name);
    tensor.strides = {16, (std::int64_t{1} << 30) + 64, 0, 1};
  }
  out.push_back({"gate4.offsets", "q and o with head stride 2^30+64", huge, ordinary, {}});
  huge = ordinary;
  for (const char* name : {"k", "v"}) {
    CallTensor& tensor = *find_tensor(huge, name);
    tensor.strides = {16, 32, (std::int64_t{1} << 28) + 64, 1};
  }
  out.push_back({"gate4.offsets", "k and v with key stride 2^28+64", huge, ordinary, {}});
  return out;
}

}  // namespace nbx::contracts
