// What a kernel refuses, and that it says which argument, which value and what is accepted.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/kernels/pack_call.hpp"

namespace nbx::test {
namespace {

using testing::HasSubstr;

constexpr DLDataType f32{kDLFloat, 32, 1};
constexpr DLDataType int32{kDLInt, 32, 1};

/// Refused by can_run, check and run alike, with all of `words` in the message, and o left as it was.
void expect_refused(PackCall& call, nbx_status status, std::initializer_list<const char*> words) {
  Array* written = nullptr;
  for (Array& array : call.arrays) {
    if (array.name() == "o" || array.name() == "y") written = &array;
  }
  const auto before = written == nullptr ? std::vector<std::uint32_t>{} : written->all_bits();
  const auto look = [&](nbx_status got, const char* entry) {
    EXPECT_EQ(got, status) << entry << ": " << call.message;
    for (const char* const word : words) EXPECT_THAT(call.message, HasSubstr(word)) << entry;
  };
  look(call.can_run(), "can_run");
  look(call.check(), "check");
  look(call.run_unchecked(), "run");
  if (written != nullptr) {
    EXPECT_EQ(written->all_bits(), before);
  }
}

constexpr AttentionShape shape{.B = 2, .H = 4, .Hk = 2, .Tq = 6, .Tk = 10, .D = 16, .Dv = 16};

/// A right call with one tensor replaced.
PackCall with(const char* name, DLDataType type, const Shape& sizes, const Shape& strides = {},
              const std::string& kernel = "math.simt.f32") {
  PackCall right = attention_call(kernel, shape);
  PackCall call(kernel);
  bool replaced = false;
  for (Array& array : right.arrays) {
    if (array.name() == name) {
      call.add({name, array.tensor()->role, type, sizes, strides}).fill(1);
      replaced = true;
    } else {
      call.add(array);
    }
  }
  if (!replaced) call.add({name, NBX_IN, type, sizes, strides}).fill(1);
  return call;
}

struct BadTensor {
  const char* name;
  DLDataType type;
  Shape sizes;
  nbx_status status;
  std::initializer_list<const char*> words;
};

TEST(Refusals, Shapes) {
  const BadTensor bad[] = {
      {"k", f32, {2, 2, 10, 24}, NBX_INVALID, {"k: head dim 24", "accepted: 16", "q"}},
      {"k", f32, {2, 3, 10, 16}, NBX_INVALID, {"k: KV heads 3", "a divisor of 4"}},
      {"k", f32, {2, 0, 10, 16}, NBX_INVALID, {"k: KV heads 0", "a divisor of 4"}},
      {"k", f32, {3, 2, 10, 16}, NBX_INVALID, {"k: batch 3", "accepted: 2"}},
      {"v", f32, {1, 2, 10, 16}, NBX_INVALID, {"v: batch 1", "accepted: 2"}},
      {"v", f32, {2, 1, 10, 16}, NBX_INVALID, {"v: KV heads 1", "accepted: 2"}},
      {"v", f32, {2, 2, 9, 16}, NBX_INVALID, {"v: keys 9", "accepted: 10"}},
      {"q", f32, {4, 6, 16}, NBX_INVALID, {"q: rank 3", "rank 4"}},
      {"q", f32, {2, 4, 6, 0}, NBX_INVALID, {"q: head dim 0"}},
      {"o", f32, {2, 4, 6, 15}, NBX_INVALID, {"o: head dim 15", "accepted: 16"}},
      {"o", f32, {2, 4, 7, 16}, NBX_INVALID, {"o: queries 7", "accepted: 6"}},
      {"lse", f32, {2, 4, 5}, NBX_INVALID, {"lse: queries 5", "accepted: 6"}},
      {"bias", f32, {10}, NBX_INVALID, {"bias: rank 1", "rank 2 to 4"}},
      {"bias", f32, {6, 11}, NBX_INVALID, {"bias: size 11 of axis 1", "1 or 10"}},
      {"bias", f32, {5, 10}, NBX_INVALID, {"bias: size 5 of axis 0", "1 or 6"}},
      {"bias", f32, {4, 6, 10}, NBX_INVALID, {"bias: size 4 of axis 0", "1 or 2"}},
      {"bias", f32, {2, 3, 6, 10}, NBX_INVALID, {"bias: size 3 of axis 1", "1 or 4"}},
      {"bias", int32, {6, 10}, NBX_UNSUPPORTED, {"bias: format int32", "f32"}},
      {"k", {kDLFloat, 16, 1}, {2, 2, 10, 16}, NBX_UNSUPPORTED, {"k: format f16", "format f32"}},
      {"o", {kDLBfloat, 16, 1}, {2, 4, 6, 16}, NBX_UNSUPPORTED, {"o: format bf16", "format f32"}},
      {"lse", {kDLFloat, 16, 1}, {2, 4, 6}, NBX_UNSUPPORTED, {"lse: format f16", "format f32"}},
      {"sinks", f32, {4}, NBX_UNSUPPORTED, {"sinks", "q, k, v, bias, o, lse"}},
  };
  for (const BadTensor& b : bad) {
    PackCall call = with(b.name, b.type, b.sizes);
    expect_refused(call, b.status, b.words);
  }
}

TEST(Refusals, NegativeSizes) {
  PackCall call = attention_call("math.simt.f32", shape);
  std::int64_t negative[] = {2, 4, -6, 16};
  const nbx_tensor* const from = call["q"].tensor();
  nbx_tensor q = *from;
  q.tensor.shape = negative;
  const nbx_tensor* tensors[] = {&q};
  nbx_problem problem{};
  problem.struct_size = sizeof problem;
  problem.family = "attention";
  problem.tensors = tensors;
  problem.tensor_count = 1;
  char message[200];
  EXPECT_EQ(call.kernel->can_run(call.kernel, &problem, message, sizeof message), NBX_INVALID);
  EXPECT_THAT(message, HasSubstr("q: shape [2, 4, -6, 16]"));
}

TEST(Refusals, Parameters) {
  const auto refused = [](auto&& change, nbx_status status, std::initializer_list<const char*> words) {
    PackCall call = attention_call("math.simt.bf16", shape);
    change(call);
    expect_refused(call, status, words);
  };
  refused([](PackCall& c) { c.real("scale", std::nan("")); }, NBX_INVALID, {"scale: nan", "finite"});
  refused([](PackCall& c) { c.real("scale", -HUGE_VAL); }, NBX_INVALID, {"scale: -inf", "finite"});
  refused([](PackCall& c) { c.real("scale", 1e300); }, NBX_INVALID, {"scale: 1e+300", "fp32"});
  refused([](PackCall& c) { c.integer("scale", 1); }, NBX_INVALID, {"scale: an integer", "a real"});
  refused([](PackCall& c) { c.text("causal", "diagonal"); }, NBX_INVALID, {"causal: diagonal", "top_left"});
  refused([](PackCall& c) { c.integer("window", 128); }, NBX_UNSUPPORTED, {"window", "causal, scale"});
  refused([](PackCall& c) { c.real("soft_cap", 30); }, NBX_UNSUPPORTED, {"soft_cap"});
  refused([](PackCall& c) { c.real("scale", 1), c.real("scale", 2); }, NBX_INVALID, {"scale: given twice"});
}

TEST(Refusals, MissingTensorsByName) {
  for (const char* const missing : {"q", "k", "v", "o"}) {
    PackCall right = attention_call("chunked.simt.f32", shape);
    PackCall call("chunked.simt.f32");
    for (const Array& array : right.arrays) {
      if (array.name() != missing) call.add(array);
    }
    EXPECT_EQ(call.can_run(), NBX_INVALID);
    EXPECT_THAT(call.message, HasSubstr(std::string(missing) + ": missing"));
  }
}

TEST(Refusals, PublishedGivesNoLse) {
  PackCall call = attention_call("math.published.f32", shape);
  expect_refused(call, NBX_UNSUPPORTED, {"lse"});
}

TEST(Refusals, OutputsThatOverlap) {
  PackCall call = with("o", f32, {2, 4, 6, 16}, {0, 96, 16, 1});
  expect_refused(call, NBX_INVALID, {"o: strides [0, 96, 16, 1]", "a place of its own"});
  PackCall near = with("o", f32, {2, 4, 6, 16}, {384, 96, 15, 1});
  expect_refused(near, NBX_INVALID, {"o: strides [384, 96, 15, 1]"});
}

TEST(Refusals, LaunchOptions) {
  PackCall call = attention_call("chunked.simt.f32", shape);
  const auto refused = [&](nbx_status status, std::initializer_list<const char*> words) {
    EXPECT_EQ(call.check(), status) << call.message;
    for (const char* const word : words) EXPECT_THAT(call.message, HasSubstr(word));
    EXPECT_EQ(call.run_unchecked(), status) << call.message;
  };
  call.option("chunk_rows", 0);
  refused(NBX_INVALID, {"chunk_rows: 0", "accepted: 1 to"});
  call.option("block_rows", 129);
  refused(NBX_INVALID, {"block_rows: 129", "1 to 128"});
  call.option("splits", 2);
  refused(NBX_UNSUPPORTED, {"splits", "block_rows, chunk_rows"});
  call.options.clear();
  call.launch.item_order = 9;
  refused(NBX_INVALID, {"item_order: 9"});
}

TEST(Refusals, Workspace) {
  PackCall call = attention_call("math.simt.f16", shape);
  ASSERT_EQ(call.run(), NBX_OK);
  call.launch.workspace_bytes -= 1;
  EXPECT_EQ(call.run_unchecked(), NBX_INVALID);
  EXPECT_THAT(call.message, HasSubstr("workspace: "));
  call.launch.workspace_bytes += 1;
  call.launch.workspace = static_cast<std::byte*>(call.launch.workspace) + 8;
  EXPECT_EQ(call.run_unchecked(), NBX_INVALID);
  EXPECT_THAT(call.message, HasSubstr("256"));
  call.launch.workspace = nullptr;
  EXPECT_EQ(call.run_unchecked(), NBX_INVALID);
}

TEST(Refusals, SoftmaxAxesAndShapes) {
  const auto call_of = [](Shape x, Shape y, std::int64_t axis, const char* name = "softmax.tile.f32") {
    PackCall call(name);
    call.add({"x", NBX_IN, call.kernel->format, std::move(x)}).fill(1);
    call.add({"y", NBX_OUT, call.kernel->format, std::move(y)});
    call.integer("axis", axis);
    return call;
  };
  for (const std::int64_t axis : {2, -3, 100}) {
    PackCall call = call_of({4, 8}, {4, 8}, axis);
    expect_refused(call, NBX_INVALID, {"axis: ", std::to_string(axis).c_str(), "-2 to 1"});
  }
  PackCall empty = call_of({4, 0}, {4, 0}, 1);
  expect_refused(empty, NBX_INVALID, {"x: size 0 along axis 1"});
  PackCall scalar = call_of({}, {}, 0);
  expect_refused(scalar, NBX_INVALID, {"axis: 0"});
  PackCall shapes = call_of({4, 8}, {4, 7}, 1);
  expect_refused(shapes, NBX_INVALID, {"y: shape [4, 7]", "[4, 8]"});
  PackCall ranks = call_of({4, 8}, {4, 8, 1}, 1);
  expect_refused(ranks, NBX_INVALID, {"y: rank 3", "rank 2"});
  PackCall wide = call_of({2, 4097}, {2, 4097}, 1);
  expect_refused(wide, NBX_UNSUPPORTED, {"x: 4097 features", "at most 4096"});
}

TEST(Refusals, NamesAnotherFamily) {
  PackCall call("math.simt.f32");
  nbx_problem problem{};
  problem.struct_size = sizeof problem;
  problem.family = "softmax";
  char message[200];
  EXPECT_EQ(call.kernel->can_run(call.kernel, &problem, message, sizeof message), NBX_UNSUPPORTED);
  EXPECT_THAT(message, HasSubstr("family: softmax; accepted: attention"));
  char cut[9];
  EXPECT_EQ(call.kernel->can_run(call.kernel, &problem, cut, sizeof cut), NBX_UNSUPPORTED);
  EXPECT_STREQ(cut, "family: ");
}

}  // namespace
}  // namespace nbx::test
