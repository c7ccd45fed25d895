#include "contracts/families/paged_refusals.hpp"

#include <cmath>

#include "contracts/families/call_edits.hpp"
#include "contracts/families/paged_inputs.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

/// q [2, 4, 1, 16], pools [9, 2, 64, 16], block_table [2, 3], seq_lens [2] = 100, 100.
constexpr PagedProblem small{.base = {.B = 2, .H = 4, .Hk = 2, .Tk = 100, .D = 16}};

}  // namespace

std::vector<Refusal> paged_refusals(DLDataType format, std::uint64_t seed) {
  std::vector<Refusal> out;
  const PagedData data = make_paged_data(small, format, seed);
  const Call good = paged_call(small, data);
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
  const auto lengths = [](std::vector<std::int64_t> values) { return edit::fill("seq_lens", int32_bytes(values)); };
  const auto entry = [&](std::size_t at, std::int64_t value) {
    std::vector<std::int64_t> table = data.table;
    table[at] = value;
    return edit::fill("block_table", int32_bytes(table));
  };
  const auto max_seq_len = [](std::int64_t value) { return edit::set(int_param("max_seq_len", value)); };
  using edit::replace;
  const DLDataType other = same_type(format, f32_type) ? f16_type : f32_type;

  add("gate4.shape", "Tq=3", "q", "3", both(replace("q", {2, 4, 3, 16}), replace("o", {2, 4, 3, 16})));
  add("gate4.shape", "o=2x4x1x8", "o", "8", replace("o", {2, 4, 1, 8}));
  add("gate4.head_dim", "q=2x4x1x24", "k_pool", "16", replace("q", {2, 4, 1, 24}));
  add("gate4.heads", "H=4,Hk=3", "k_pool", "3",
      both(replace("k_pool", {9, 3, 64, 16}), replace("v_pool", {9, 3, 64, 16})));
  add("gate4.pool", "v_pool of 8 pages", "v_pool", "8", replace("v_pool", {8, 2, 64, 16}));
  add("gate4.pool", "v_pool of 1 head", "v_pool", "1", replace("v_pool", {9, 1, 64, 16}));
  add("gate4.pool", "v_pool of 128 tokens a page", "v_pool", "128", replace("v_pool", {9, 2, 128, 16}));
  add("gate4.pool", "96 tokens a page", "k_pool", "96",
      both(replace("k_pool", {9, 2, 96, 16}), replace("v_pool", {9, 2, 96, 16})));
  add("gate4.table", "a table of 3 sequences", "block_table", "3", replace("block_table", {3, 3}));
  add("gate4.table", "a table in f32", "block_table", "f32", replace("block_table", {2, 3}, f32_type));
  add("gate4.table", "a page of -1 within a length", "block_table", "-1", entry(4, -1), true);
  add("gate4.table", "a page of 9 within a length", "block_table", "9", entry(0, 9), true);
  add("gate4.lengths", "seq_lens of 3", "seq_lens", "3", replace("seq_lens", {3}));
  add("gate4.lengths", "a length of 193", "seq_lens", "193", both(lengths({3, 193}), max_seq_len(200)), true);
  add("gate4.lengths", "a length of -1", "seq_lens", "-1", lengths({-1, 3}), true);
  add("gate4.lengths", "max_seq_len=99", "max_seq_len", "99", max_seq_len(99), true);
  add("gate4.lengths", "max_seq_len=-1", "max_seq_len", "-1", max_seq_len(-1));
  add("gate4.lengths", "no max_seq_len", "max_seq_len", "missing",
      [](Call& call) { std::erase_if(call.params, [](const Param& param) { return param.name == "max_seq_len"; }); });
  add("gate4.scale", "scale=nan", "scale", "nan", edit::set(real_param("scale", std::nan(""))));
  add("gate4.format", "k_pool in another format", "k_pool", type_name(other).c_str(),
      replace("k_pool", {9, 2, 64, 16}, other));
  add("gate4.format", "q in another format", "q", type_name(other).c_str(), replace("q", {2, 4, 1, 16}, other));
  add("gate4.missing", "no block_table", "block_table", "missing", edit::remove("block_table"));
  add("gate4.unknown", "causal=top_left", "causal", "causal", edit::set(text_param("causal", "top_left")));
  add("gate4.unknown", "tensor=bias", "bias", "bias", edit::add(edit::zeros("bias", f32_type, {1, 100})));
  return out;
}

std::vector<Edge> paged_edges(DLDataType format, std::uint64_t seed) {
  std::vector<Edge> out;
  const auto call_of = [&](const PagedProblem& problem) {
    return paged_call(problem, make_paged_data(problem, format, seed));
  };
  const PagedProblem none{.base = {.B = 0, .H = 2, .Tk = 5, .D = 8}};
  out.push_back({"gate4.empty", "B=0", call_of(none), {}, {Bytes{}, Bytes{}}});
  const Call ordinary = call_of(small);
  Call huge = ordinary;
  for (const char* name : {"k_pool", "v_pool"}) {
    CallTensor& tensor = *find_tensor(huge, name);
    tensor.strides = {(std::int64_t{1} << 28) + 64, 64 * 16, 16, 1};
  }
  out.push_back({"gate4.offsets", "pools with page stride 2^28+64", huge, ordinary, {}});
  return out;
}

}  // namespace nbx::contracts
