// Paged append as the contracts know it. What a pool must hold afterwards is exact: the narrowed element where a token
// went, what was there before everywhere else.
#include "contracts/families/paged_append_family.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "contracts/families/call_edits.hpp"
#include "contracts/families/decode_inputs.hpp"
#include "contracts/families/paged_problems.hpp"
#include "contracts/formats.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

double element(const AppendProblem& p, oracle::Format format, Random& random) {
  const double x = random.normal();
  switch (p.kind) {
    case AppendKind::normal:
      return x;
    case AppendKind::wide:
      return random.sign() * std::ldexp(1 + random.unit(), static_cast<int>(random.below(60)) - 40);
    case AppendKind::saturating:
      return x * std::min(1e38, 0.75 * oracle::largest_finite(format));
    case AppendKind::special: {
      const double values[] = {0.0, -0.0, inf, -inf, std::nan(""), oracle::quantum(format), x, -x};
      return values[random.below(8)];
    }
  }
  return x;
}

SharedBytes made(const AppendProblem& p, DLDataType type, DLDataType pool, std::int64_t n, Random random) {
  auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(n) * (type.bits / 8));
  for (std::int64_t i = 0; i < n; ++i)
    put_pattern(*bytes, type, i, oracle::encode(*oracle_format(type), element(p, *oracle_format(pool), random)));
  return bytes;
}

class AppendInstance final : public Instance {
 public:
  AppendInstance(const AppendProblem& problem, DLDataType format, std::uint64_t seed) : problem_(problem) {
    const AppendProblem& p = problem;
    const std::string name = append_problem_name(p);
    const DLDataType from = p.from_f32 ? f32_type : format;
    const std::int64_t places = p.pages * p.page_tokens;
    // Distinct slots, in an order of the seed's.
    std::vector<std::int64_t> order(static_cast<std::size_t>(places));
    std::iota(order.begin(), order.end(), 0);
    Random random(seed, name + "/slots");
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
    for (std::int64_t n = 0; n < p.tokens; ++n)
      slots_.push_back(p.skip && n % p.skip == p.skip - 1 ? -1 : order[static_cast<std::size_t>(n % places)]);
    const Shape tokens{p.tokens, p.heads, p.head_dim}, pool{p.pages, p.heads, p.page_tokens, p.head_dim};
    const AppendProblem before{.kind = AppendKind::special};
    call_.family = "paged_append";
    call_.tensors = {
        input_tensor("new", from, tokens, made(p, from, format, count(tokens), Random(seed, name + "/new"))),
        input_tensor("slots", int32_type, {p.tokens}, int32_bytes(slots_)),
        input_tensor("pool", format, pool, made(before, format, format, count(pool), Random(seed, name + "/pool")))};
    call_.tensors.back().role = NBX_INOUT;
    outputs_ = {{"pool", format, pool, {"page", "head", "position", "column"}}};
  }

  oracle::Evaluation evaluate(std::span<const oracle::Arithmetic> arithmetics) const override {
    const CallTensor& pool = call_.tensors[2];
    const CallTensor& from = call_.tensors[0];
    const oracle::Format format = *oracle_format(pool.dtype);
    oracle::Evaluation::Output output{.name = "pool", .shape = pool.shape, .expected = {}, .bounds = {}};
    const std::int64_t n = count(pool.shape);
    output.expected.radius.assign(static_cast<std::size_t>(n), 0.0);
    for (std::int64_t i = 0; i < n; ++i) output.expected.value.push_back(value_at(*pool.data, pool.dtype, i));
    for (std::int64_t token = 0; token < problem_.tokens; ++token) {
      const std::int64_t slot = slots_[static_cast<std::size_t>(token)];
      if (slot < 0) continue;
      for (std::int64_t h = 0; h < problem_.heads; ++h)
        for (std::int64_t d = 0; d < problem_.head_dim; ++d)
          output.expected.value[static_cast<std::size_t>(place(slot, h, d))] = oracle::narrow(
              format, value_at(*from.data, from.dtype, (token * problem_.heads + h) * problem_.head_dim + d));
    }
    for (double& value : output.expected.value) {
      output.expected.classes.push_back(std::isnan(value) ? oracle::not_a_number
                                        : value == inf    ? oracle::plus_infinity
                                        : value == -inf   ? oracle::minus_infinity
                                                          : oracle::finite);
    }
    const oracle::Bounds exact{.bound = std::vector<double>(static_cast<std::size_t>(n), 0.0),
                               .classes = output.expected.classes,
                               .open = std::vector<std::uint8_t>(static_cast<std::size_t>(n), 0)};
    output.bounds.assign(arithmetics.size(), exact);
    oracle::Evaluation out;
    out.outputs.push_back(std::move(output));
    return out;
  }
  oracle::Refine refiner() const override {
    // A bound of 0 around an exact value leaves nothing open; asked for an explanation alone.
    return [this](std::size_t, std::int64_t element, int) {
      const oracle::Evaluation all = evaluate({});
      const double value = all.outputs[0].expected.value[static_cast<std::size_t>(element)];
      return oracle::Refined{.value = value, .radius = 0, .low = 0, .low_radius = 0};
    };
  }
  oracle::BoundParts parts(const oracle::Arithmetic&, std::size_t, std::int64_t) const override { return {}; }
  std::vector<std::vector<double>> mutate(oracle::Mutant, std::uint64_t) const override { return {}; }

  std::vector<Way> ways(std::string_view clause, bool) const override {
    std::vector<Way> ways;
    if (clause == "gate3.view") {
      add_view("[pages, tokens, heads, D] storage", {0, 2, 1, 3}, 0, 0, 1, ways);
      add_view("rows 8 apart, 4 elements in", {0, 1, 2, 3}, 8, 4, 1, ways);
      add_view("size-1 axes with stride 98765", {0, 1, 2, 3}, 0, 0, 98765, ways);
    }
    if (clause == "gate3.batch" && problem_.tokens > 1) {
      // Half of the tokens: their places hold the same, and those of the others do not count.
      Way way{.name = "the first half of the tokens", .call = call_};
      const std::int64_t half = problem_.tokens / 2;
      way.call.tensors[0] = sliced(call_.tensors[0], {{0, half}, {0, problem_.heads}, {0, problem_.head_dim}});
      way.call.tensors[1] = sliced(call_.tensors[1], {{0, half}});
      std::vector<std::int64_t>& base = way.base["pool"];
      base.resize(static_cast<std::size_t>(count(call_.tensors[2].shape)));
      std::iota(base.begin(), base.end(), 0);
      for (std::int64_t token = half; token < problem_.tokens; ++token)
        for (std::int64_t i = 0; slots_[static_cast<std::size_t>(token)] >= 0 && i < problem_.heads * problem_.head_dim;
             ++i)
          base[static_cast<std::size_t>(
              place(slots_[static_cast<std::size_t>(token)], i / problem_.head_dim, i % problem_.head_dim))] = -1;
      ways.push_back(std::move(way));
    }
    return ways;
  }
  std::vector<std::pair<std::string, std::string>> behind(std::size_t, std::int64_t element) const override {
    const Shape at = coordinates(call_.tensors[2].shape, element);
    const std::int64_t slot = at[0] * problem_.page_tokens + at[2];
    for (std::size_t n = 0; n < slots_.size(); ++n)
      if (slots_[n] == slot) return {{"slot", fmt::format("{} of token {}", slot, n)}};
    return {{"slot", fmt::format("{}, which no token names", slot)}};
  }

 private:
  std::int64_t place(std::int64_t slot, std::int64_t h, std::int64_t d) const {
    const std::int64_t page = slot / problem_.page_tokens, position = slot % problem_.page_tokens;
    return ((page * problem_.heads + h) * problem_.page_tokens + position) * problem_.head_dim + d;
  }
  void add_view(const char* name, const std::vector<int>& order, std::int64_t gap, std::int64_t offset,
                std::int64_t odd, std::vector<Way>& ways) const {
    Way way{.name = name, .call = call_};
    CallTensor& pool = way.call.tensors[2];
    lay_out(pool, order, gap, offset, odd);
    lay_out(way.call.tensors[0], {0, 1, 2}, gap, offset, odd);
    lay_out(way.call.tensors[1], {0}, gap, offset, odd);
    way.base["pool"] = box_indices(pool.shape, whole(pool.shape));
    ways.push_back(std::move(way));
  }

  const AppendProblem& problem_;
  std::vector<std::int64_t> slots_;
};

class AppendFamily final : public Family {
 public:
  AppendFamily() {
    for (const AppendProblem& p : append_problems())
      problems_.push_back({.name = append_problem_name(p),
                           .kind = std::to_string(static_cast<int>(p.kind)) + (p.from_f32 ? "/f32" : ""),
                           .tier = p.tier,
                           .equality = p.equality,
                           .size_class = 0,
                           .work = p.tokens * p.heads * p.head_dim + 1});
  }
  std::string_view name() const override { return "paged_append"; }
  std::span<const ProblemInfo> problems() const override { return problems_; }
  std::unique_ptr<Instance> make(std::size_t problem, DLDataType format, std::uint64_t seed) const override {
    return std::make_unique<AppendInstance>(append_problems()[problem], format, seed);
  }
  std::vector<Refusal> refusals(DLDataType format, std::uint64_t seed) const override {
    // new [3, 2, 16], slots [3], pool [2, 2, 64, 16].
    constexpr AppendProblem small{.tokens = 3, .heads = 2, .head_dim = 16, .pages = 2};
    const Call good = AppendInstance(small, format, seed).call();
    std::vector<Refusal> out;
    const auto add = [&](const char* clause, const char* name, const char* argument, const char* value, auto&& change,
                         bool in_table = false) {
      Call call = good;
      change(call);
      out.push_back({clause, name, argument, value, std::move(call), in_table});
    };
    const auto slots = [](std::vector<std::int64_t> values) { return edit::fill("slots", int32_bytes(values)); };
    const DLDataType other = same_type(format, f16_type) ? bf16_type : f16_type;
    add("gate4.slots", "a slot of 128", "slots", "128", slots({0, 128, 1}), true);
    add("gate4.slots", "a slot of -2", "slots", "-2", slots({0, -2, 1}), true);
    add("gate4.slots", "two tokens with slot 70", "slots", "70", slots({70, 3, 70}), true);
    add("gate4.slots", "slots of 4", "slots", "4", edit::replace("slots", {4}));
    add("gate4.slots", "slots in f32", "slots", "f32", edit::replace("slots", {3}, f32_type));
    add("gate4.pool", "a pool of 3 heads", "pool", "3", edit::replace("pool", {2, 3, 64, 16}));
    add("gate4.pool", "a pool of head dim 8", "pool", "8", edit::replace("pool", {2, 2, 64, 8}));
    add("gate4.pool", "a pool of rank 3", "pool", "3", edit::replace("pool", {2, 2, 64}));
    add("gate4.format", "new in another format", "new", type_name(other).c_str(),
        edit::replace("new", {3, 2, 16}, other));
    add("gate4.format", "pool in int32", "pool", "int32", edit::replace("pool", {2, 2, 64, 16}, int32_type));
    add("gate4.missing", "no slots", "slots", "missing", edit::remove("slots"));
    add("gate4.unknown", "scale=2", "scale", "scale", edit::set(real_param("scale", 2)));
    return out;
  }
  std::vector<Edge> edges(DLDataType, std::uint64_t) const override { return {}; }
  std::span<const std::string_view> optional_outputs() const override { return {}; }

 private:
  std::vector<ProblemInfo> problems_;
};

}  // namespace

const Family& paged_append_family() {
  static const AppendFamily family;
  return family;
}

}  // namespace nbx::contracts
