// sdpa as the contracts know it: attention behind a route, with the layout of K and formats to be made out.
#include "contracts/families/sdpa_family.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "contracts/dense.hpp"
#include "contracts/families/attention_family.hpp"
#include "contracts/families/attention_ways.hpp"
#include "contracts/families/sdpa_problems.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

std::string sdpa_name(const SdpaProblem& p) {
  constexpr const char* layouts[] = {"", ",k=transposed_unsaid", ",k=transposed", ",k=straight"};
  std::string name = problem_name(p.attention);
  std::string more;
  if (p.profile != "none") more += fmt::format(",profile={}", p.profile);
  more += layouts[static_cast<int>(p.k)];
  if (p.wide_q) more += ",q=f32";
  if (p.wide_kv) more += ",kv=f32";
  if (p.force_math) more += ",force_math";
  if (!p.decode_vec.empty()) more += fmt::format(",decode_vec={}", p.decode_vec);
  // A plant stays at the end, where findings look for it.
  const std::size_t plant = name.find(",plant=");
  return plant == std::string::npos ? name + more : name.insert(plant, more);
}

std::string_view profile_named(std::string_view name) {
  for (const SdpaProfile& profile : sdpa_profiles)
    if (profile.name == name) return profile.json;
  return {};
}

SharedBytes narrowed(const SharedBytes& from, DLDataType to) {
  const std::size_t n = from->size() / 4;
  auto bytes = std::make_shared<Bytes>(n * (to.bits / 8));
  for (std::size_t i = 0; i < n; ++i) {
    const auto e = static_cast<std::int64_t>(i);
    put_pattern(*bytes, to, e, oracle::encode(*oracle_format(to), value_at(*from, f32_type, e)));
  }
  return bytes;
}

/// [B, Hk, Tk, D] as [B, Hk, D, Tk].
void transpose(CallTensor& k) {
  const Shape from = k.shape;
  std::swap(k.shape[2], k.shape[3]);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count(from)));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Shape at = coordinates(k.shape, static_cast<std::int64_t>(i));
    indices[i] = ((at[0] * from[1] + at[1]) * from[2] + at[3]) * from[3] + at[2];
  }
  k.data = take(*k.data, k.dtype.bits / 8, indices);
}

class SdpaInstance final : public Instance {
 public:
  SdpaInstance(const SdpaProblem& problem, DLDataType format, std::uint64_t seed) : problem_(problem), format_(format) {
    // Where an operand comes wide, all are made wide, and the definition is about the narrowed ones.
    const bool wide = problem.wide_q || problem.wide_kv;
    AttentionData data = make_attention_data(problem.attention, wide ? f32_type : format, seed);
    const AttentionData given = data;
    if (wide) {
      data.format = format;
      for (SharedBytes* bytes : {&data.q, &data.k, &data.v}) *bytes = narrowed(*bytes, format);
    }
    attention_ = make_attention(problem.attention, std::move(data));
    call_ = attention_->call();
    outputs_ = attention_->outputs();
    call_.family = "sdpa";
    const auto widen = [&](const char* name, const SharedBytes& bytes) {
      CallTensor& tensor = *find_tensor(call_, name);
      tensor.dtype = f32_type;
      tensor.data = bytes;
    };
    if (problem.wide_q) widen("q", given.q);
    if (problem.wide_kv) widen("k", given.k), widen("v", given.v);
    if (transposed()) transpose(*find_tensor(call_, "k"));
    if (problem.k == KLayout::said) call_.params.push_back(int_param("k_transposed", 1));
    if (problem.k == KLayout::said_straight) call_.params.push_back(int_param("k_transposed", 0));
    if (problem.force_math) call_.params.push_back(int_param("force_math", 1));
    if (!problem.decode_vec.empty()) call_.params.push_back(text_param("decode_vec", std::string(problem.decode_vec)));
    if (const std::string_view json = profile_named(problem.profile); !json.empty())
      call_.params.push_back(text_param("profile", std::string(json)));
  }

  oracle::Evaluation evaluate(std::span<const oracle::Arithmetic> arithmetics) const override {
    return attention_->evaluate(arithmetics);
  }
  oracle::Refine refiner() const override { return attention_->refiner(); }
  oracle::BoundParts parts(const oracle::Arithmetic& arithmetic, std::size_t output,
                           std::int64_t element) const override {
    return attention_->parts(arithmetic, output, element);
  }
  std::vector<std::vector<double>> mutate(oracle::Mutant mutant, std::uint64_t position) const override {
    return attention_->mutate(mutant, position);
  }
  std::vector<Way> ways(std::string_view clause, bool full) const override {
    // The other ways say where keys and dims lie.
    if (transposed()) return {};
    return attention_ways({.problem = problem_.attention, .call = call_, .full = full}, clause);
  }
  std::vector<std::pair<std::string, std::string>> behind(std::size_t output, std::int64_t element) const override {
    return attention_->behind(output, element);
  }

  std::vector<Routed> routes() const override {
    std::vector<Routed> out;
    for (std::string_view rest = problem_.route; !rest.empty();) {
      const std::size_t end = std::min(rest.find('/'), rest.size());
      const std::string_view route = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (route == "unit flash" && same_type(format_, f32_type)) continue;  // the profile has no tile for it
      Routed routed{std::string(route), {}, attention_->call()};
      const std::string_view kernel = route.starts_with("chunked") ? "chunked.simt"
                                      : route == "unit flash"      ? "flash.mma"
                                      : route == "flash"           ? "flash.simt"
                                      : route == "math"            ? "math.simt"
                                                                   : "decode.vec";
      routed.kernel = fmt::format("{}.{}", kernel, type_name(format_));
      if (route.starts_with("chunked"))
        routed.call.launch.options = {int_param("chunk_rows", std::stoll(std::string(route.substr(8))))};
      out.push_back(std::move(routed));
    }
    return out;
  }

 private:
  bool transposed() const { return problem_.k == KLayout::unsaid || problem_.k == KLayout::said; }

  const SdpaProblem& problem_;
  DLDataType format_;
  std::unique_ptr<Instance> attention_;
};

/// q [1, 4, 6, D], k and v [1, 2, Tk, D].
Call plain(DLDataType format, std::uint64_t seed, const AttentionProblem& p) {
  Call call = make_attention(p, make_attention_data(p, format, seed))->call();
  call.family = "sdpa";
  return call;
}

class SdpaFamily final : public Family {
 public:
  SdpaFamily() {
    for (const SdpaProblem& p : sdpa_table::problems) {
      const AttentionProblem& a = p.attention;
      ProblemInfo info;
      info.name = sdpa_name(p);
      info.kind = fmt::format("{}/{}", p.route, plant_name(a.plant));
      info.tier = a.tier;
      info.equality = a.equality;
      info.work = a.B * a.H * a.Tq * a.Tk * (a.D + (a.Dv ? a.Dv : a.D));
      problems_.push_back(std::move(info));
    }
  }
  std::string_view name() const override { return "sdpa"; }
  std::span<const ProblemInfo> problems() const override { return problems_; }
  std::unique_ptr<Instance> make(std::size_t problem, DLDataType format, std::uint64_t seed) const override {
    return std::make_unique<SdpaInstance>(sdpa_table::problems[problem], format, seed);
  }

  std::vector<Refusal> refusals(DLDataType format, std::uint64_t seed) const override {
    static constexpr AttentionProblem few{.H = 4, .Hk = 2, .Tq = 6, .Tk = 10, .D = 16};
    static constexpr AttentionProblem square{.H = 4, .Hk = 2, .Tq = 6, .Tk = 64, .D = 64};
    std::vector<Refusal> out;
    const Call good = plain(format, seed, few);
    const auto add = [&](const char* clause, const char* name, const char* argument, const char* value, auto&& change) {
      Call call = good;
      change(call);
      out.push_back({clause, name, argument, value, std::move(call)});
    };
    const auto with = [](Param param) { return [=](Call& call) { call.params.push_back(param); }; };
    const auto profile = [&](const char* text) { return with(text_param("profile", text)); };
    add("gate4.k_layout", "Tk=64,D=64,k_transposed unsaid", "k", "64",
        [&](Call& call) { call = plain(format, seed, square); });
    add("gate4.k_layout", "k=2x10x16,k_transposed=1", "k", "10", with(int_param("k_transposed", 1)));
    add("gate4.k_layout", "k_transposed=2", "k_transposed", "2", with(int_param("k_transposed", 2)));
    add("gate4.profile", "a file that is not there", "profile", "nowhere", profile("/nowhere/profile.json"));
    add("gate4.profile", "a folder", "profile", "proc", profile("/proc"));
    add("gate4.profile", "cut short", "profile", "bytes", profile(R"({"bytes": )"));
    add("gate4.profile", "no bytes", "profile", "fraction", profile(R"({"fraction": 0.5})"));
    add("gate4.profile", "bytes=-1", "profile", "1", profile(R"({"bytes": -1})"));
    add("gate4.profile", "an unknown word", "profile", "min_row", profile(R"({"bytes": 1, "min_row": 3})"));
    const DLDataType other = same_type(format, f16_type) ? bf16_type : f16_type;
    if (!same_type(format, f32_type))
      add("gate4.format", "f16 beside bf16", "k", type_name(other).c_str(),
          [&](Call& call) { find_tensor(call, "k")->dtype = other; });
    add("gate4.unknown", "decode_vec=always", "decode_vec", "always", with(text_param("decode_vec", "always")));
    add("gate4.unknown", "window=128", "window", "window", with(int_param("window", 128)));
    add("gate4.causal", "causal=diagonal", "causal", "diagonal",
        [](Call& call) { call.params = {text_param("causal", "diagonal")}; });
    return out;
  }

  std::vector<Edge> edges(DLDataType format, std::uint64_t seed) const override {
    static constexpr AttentionProblem no_batch{.B = 0, .H = 2, .Tq = 3, .Tk = 5, .D = 8};
    return {{"gate4.empty", "B=0", plain(format, seed, no_batch), {}, {Bytes{}, Bytes{}}}};
  }

  std::span<const std::string_view> optional_outputs() const override {
    static constexpr std::string_view names[] = {"lse"};
    return names;
  }

 private:
  std::vector<ProblemInfo> problems_;
};

}  // namespace

const Family& sdpa_family() {
  static const SdpaFamily family;
  return family;
}

}  // namespace nbx::contracts
