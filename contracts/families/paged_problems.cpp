#include "contracts/families/paged_problems.hpp"

#include <fmt/format.h>

#include "contracts/families/attention_inputs.hpp"

namespace nbx::contracts {
namespace {

using enum AttentionKind;
constexpr Tier quick = Tier::quick, full = Tier::full;

constexpr PagedProblem table[] = {
    // ordinary shapes
    {.base = {.B = 3, .H = 4, .Hk = 2, .Tk = 700, .D = 64, .equality = true, .tier = quick}},
    {.base = {.B = 3, .H = 4, .Hk = 2, .Tk = 700, .D = 64, .equality = true, .tier = quick},
     .plant = PagedPlant::taken_back},
    {.base = {.B = 2, .H = 3, .Hk = 1, .Tk = 200, .D = 80, .Dv = 24, .equality = true}, .page_tokens = 128},
    {.base = {.B = 2, .H = 2, .Hk = 2, .Tk = 300, .D = 32, .equality = true}, .shared = true},
    {.base = {.B = 9, .H = 2, .Tk = 600, .D = 32, .equality = true, .tier = quick},
     .page_tokens = 192,
     .lengths = Lengths::zero},
    {.base = {.B = 9, .H = 2, .Tk = 600, .D = 32, .tier = quick}, .lengths = Lengths::mixed},
    {.base = {.B = 9, .H = 2, .Tk = 600, .D = 32, .tier = quick},
     .lengths = Lengths::mixed,
     .plant = PagedPlant::stale_pages},
    {.base = {.B = 4, .H = 2, .Tk = 256, .D = 32, .tier = quick}, .plant = PagedPlant::nan_pages},
    {.base = {.H = 8, .Hk = 8, .Tk = 64, .D = 127}},
    {.base = {.H = 8, .Tk = 65, .D = 128}},
    {.base = {.Tk = 1, .D = 1}},
    {.base = {.Tk = 63, .D = 15}},
    {.base = {.Tk = 128, .D = 17}, .page_tokens = 256},
    {.base = {.H = 2, .Tk = 300, .D = 192, .Dv = 128}, .page_tokens = 256},
    {.base = {.H = 6, .Tk = 70, .D = 256}},
    {.base = {.Tk = 70, .D = 512}},
    {.base = {.Tk = 70, .D = 32, .scale = 0.5f}},
    {.base = {.B = 2, .H = 4, .Hk = 2, .Tk = 150, .D = 72, .equality = true}, .q_round = true},
    {.base = {.B = 4, .H = 32, .Hk = 8, .Tk = 2000, .D = 128, .equality = true, .tier = full}, .page_tokens = 128},
    // input kinds
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = wide, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = cancelling, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = anti, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 600, .D = 64, .kind = far, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = tiny, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = overflow, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = zero_query, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 32, .Dv = 80, .kind = one_hot, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 600, .D = 64, .kind = rising, .tier = quick}},
    // special values
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .plant = Plant::nan_key, .equality = true, .tier = quick}},
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .plant = Plant::nan_value, .tier = quick}},
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .plant = Plant::inf_key, .tier = quick}},
    // power: the arithmetic is decode's, so few at each size
    {.base = {.H = 8, .Hk = 2, .Tk = 64, .D = 32, .kind = negative, .tier = quick, .size_class = 64}},
    {.base = {.H = 8, .Hk = 2, .Tk = 64, .D = 32, .kind = markers, .tier = quick, .size_class = 64}},
    {.base = {.H = 8, .Hk = 2, .Tk = 64, .D = 32, .kind = rising, .size_class = 64}},
    {.base = {.H = 8, .Hk = 2, .Tk = 64, .D = 32, .kind = last_dims, .size_class = 64}},
    {.base = {.H = 32, .Tk = 64, .D = 32, .Dv = 64, .kind = clusters, .size_class = 64}},
    {.base = {.H = 4, .Hk = 2, .Tk = 8192, .D = 32, .kind = negative, .size_class = 8192}},
    {.base = {.H = 4, .Hk = 2, .Tk = 8192, .D = 32, .kind = markers, .size_class = 8192}},
    {.base = {.H = 4, .Hk = 2, .Tk = 8192, .D = 32, .kind = rising, .size_class = 8192}},
    {.base = {.H = 4, .Hk = 2, .Tk = 8192, .D = 32, .kind = last_dims, .size_class = 8192}},
    {.base = {.H = 32, .Tk = 8192, .D = 32, .Dv = 64, .kind = clusters, .size_class = 8192}},
    {.base = {.H = 4, .Hk = 2, .Tk = 65536, .D = 32, .kind = balanced, .size_class = 65536}},
};

constexpr AppendProblem appends[] = {
    {.tokens = 5, .heads = 2, .head_dim = 64, .pages = 3, .equality = true, .tier = quick},
    {.tokens = 70,
     .heads = 3,
     .head_dim = 24,
     .pages = 2,
     .page_tokens = 48,
     .skip = 3,
     .equality = true,
     .tier = quick},
    {.tokens = 5, .heads = 2, .head_dim = 64, .pages = 3, .from_f32 = true, .equality = true, .tier = quick},
    {.tokens = 9,
     .heads = 2,
     .head_dim = 80,
     .pages = 2,
     .skip = 2,
     .from_f32 = true,
     .kind = AppendKind::wide,
     .tier = quick},
    {.tokens = 9,
     .heads = 2,
     .head_dim = 32,
     .pages = 2,
     .from_f32 = true,
     .kind = AppendKind::saturating,
     .tier = quick},
    {.tokens = 9, .heads = 2, .head_dim = 32, .pages = 2, .from_f32 = true, .kind = AppendKind::special, .tier = quick},
    {.tokens = 9, .heads = 2, .head_dim = 32, .pages = 2, .kind = AppendKind::special, .tier = quick},
    {.tokens = 1, .heads = 1, .head_dim = 1, .pages = 1, .page_tokens = 1, .tier = quick},
    {.tokens = 64, .heads = 1, .head_dim = 16, .pages = 1, .equality = true},            // every place of the pool
    {.tokens = 4, .heads = 1, .head_dim = 16, .pages = 2, .skip = 1, .equality = true},  // no token at all
    {.tokens = 0, .heads = 2, .head_dim = 16, .pages = 2, .equality = true},
    {.tokens = 3, .heads = 8, .head_dim = 128, .pages = 4, .page_tokens = 256},
};

const char* plant_name(PagedPlant plant) {
  constexpr const char* names[] = {"none", "taken_back", "stale_pages", "nan_pages"};
  return names[static_cast<int>(plant)];
}

}  // namespace

std::int64_t paged_length(const PagedProblem& problem, std::int64_t b) {
  const DecodeProblem as_decode{
      .base = problem.base,
      .lengths = problem.lengths,
      .plant = problem.plant == PagedPlant::taken_back ? DecodePlant::taken_back : DecodePlant::none};
  return decode_length(as_decode, b);
}

std::string paged_problem_name(const PagedProblem& problem) {
  AttentionProblem base = problem.base;
  base.plant = Plant::none;
  std::string name = problem_name(base) + fmt::format(",page={}", problem.page_tokens);
  if (problem.lengths == Lengths::mixed) name += ",lens=mixed";
  if (problem.lengths == Lengths::zero) name += ",lens=zero";
  if (problem.shared) name += ",shared";
  if (problem.q_round) name += ",q_round";
  if (problem.base.plant != Plant::none) name += fmt::format(",plant={}", plant_name(problem.base.plant));
  if (problem.plant != PagedPlant::none) name += fmt::format(",plant={}", plant_name(problem.plant));
  return name;
}

std::span<const PagedProblem> paged_problems() { return table; }

std::string append_problem_name(const AppendProblem& p) {
  constexpr const char* kinds[] = {"normal", "wide", "saturating", "special"};
  std::string name = fmt::format("N={},Hk={},D={},pages={}x{}", p.tokens, p.heads, p.head_dim, p.pages, p.page_tokens);
  if (p.skip) name += fmt::format(",skip={}", p.skip);
  if (p.from_f32) name += ",from=f32";
  return name + fmt::format(",{}", kinds[static_cast<int>(p.kind)]);
}

std::span<const AppendProblem> append_problems() { return appends; }

}  // namespace nbx::contracts
