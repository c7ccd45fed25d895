#include "contracts/families/decode_problems.hpp"

#include <fmt/format.h>

#include "contracts/families/attention_inputs.hpp"

namespace nbx::contracts {
namespace {

using enum AttentionKind;
using enum oracle::Causal;
constexpr Tier quick = Tier::quick, full = Tier::full;

constexpr DecodeProblem table[] = {
    // ordinary shapes
    {.base = {.B = 2, .H = 8, .Hk = 2, .Tk = 600, .D = 64, .equality = true, .tier = quick}},
    {.base = {.B = 2, .H = 3, .Hk = 1, .Tk = 257, .D = 80, .Dv = 24, .equality = true}},
    {.base = {.H = 4, .Hk = 4, .Tk = 65, .D = 127, .equality = true}},
    {.base = {.H = 8, .Hk = 1, .Tk = 300, .D = 128}},
    {.base = {.Tk = 1, .D = 1}},
    {.base = {.H = 2, .Tk = 5, .D = 8}},
    {.base = {.Tk = 40, .D = 15}},
    {.base = {.Tk = 40, .D = 16}},
    {.base = {.Tk = 40, .D = 17}},
    {.base = {.Tk = 255, .D = 32}},
    {.base = {.Tk = 256, .D = 32}},
    {.base = {.Tk = 257, .D = 32}},
    {.base = {.Tk = 64, .D = 64}},
    {.base = {.Tk = 70, .D = 72}},
    {.base = {.Tk = 70, .D = 96}},
    {.base = {.Tk = 70, .D = 112}},
    {.base = {.Tk = 70, .D = 129}},
    {.base = {.Tk = 70, .D = 160}},
    {.base = {.H = 2, .Tk = 300, .D = 192, .Dv = 128, .equality = true}},
    {.base = {.Tk = 70, .D = 255}},
    {.base = {.H = 6, .Tk = 70, .D = 256}},
    {.base = {.Tk = 70, .D = 512}},
    {.base = {.Tk = 48, .D = 32, .scale = 0.5f}},
    {.base = {.B = 2, .H = 32, .Hk = 4, .Tk = 3000, .D = 128, .equality = true, .tier = full}},
    // lengths
    {.base = {.B = 3, .H = 4, .Hk = 2, .Tk = 700, .D = 64, .equality = true, .tier = quick}, .lengths = Lengths::full},
    {.base = {.B = 3, .H = 4, .Hk = 2, .Tk = 700, .D = 64, .equality = true, .tier = quick},
     .lengths = Lengths::full,
     .plant = DecodePlant::taken_back},
    {.base = {.B = 9, .H = 2, .Tk = 600, .D = 32, .tier = quick}, .lengths = Lengths::mixed},
    {.base = {.B = 9, .H = 2, .Tk = 600, .D = 32}, .lengths = Lengths::mixed, .plant = DecodePlant::stale_tail},
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .equality = true}, .lengths = Lengths::zero},
    {.base = {.B = 3, .H = 2, .Tk = 700, .D = 32}},
    {.base = {.B = 3, .H = 2, .Tk = 700, .D = 32, .tier = quick}, .plant = DecodePlant::nan_splits},
    // causal, both alignments
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .causal = top_left, .equality = true}},
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .causal = bottom_right, .equality = true}},
    {.base = {.B = 5, .H = 2, .Tk = 300, .D = 32, .causal = top_left}, .lengths = Lengths::mixed},
    {.base = {.B = 5, .H = 2, .Tk = 300, .D = 32, .causal = bottom_right}, .lengths = Lengths::mixed},
    // bias along keys
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .bias = BiasShape::k, .equality = true, .tier = quick}},
    {.base = {.H = 2, .Tk = 600, .D = 32, .bias = BiasShape::b1k, .mask = Masking::holes, .f32_bias = true}},
    {.base = {.H = 2, .Tk = 600, .D = 32, .bias = BiasShape::b11k, .mask = Masking::padding, .equality = true}},
    {.base = {.H = 2, .Tk = 40, .D = 32, .causal = top_left, .bias = BiasShape::k, .mask = Masking::holes}},
    {.base = {.H = 2, .Tk = 800, .D = 32, .bias = BiasShape::k}, .plant = DecodePlant::masked_split},
    // q in f32, read in the caches' format
    {.base = {.B = 2, .H = 4, .Hk = 2, .Tk = 300, .D = 72, .equality = true, .tier = quick}, .q_round = true},
    // input kinds
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = uniform, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = wide, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = sink, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = cancelling, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 256, .D = 64, .kind = constant, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 512, .D = 64, .kind = powers, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = anti, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = equal, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 600, .D = 64, .kind = far, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = tiny, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = largest, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = overflow, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = zero_query, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 32, .Dv = 80, .kind = one_hot, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 64, .kind = ones_value, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 600, .D = 64, .kind = rising, .equality = true, .tier = quick}},
    {.base = {.H = 8, .Hk = 2, .Tk = 300, .D = 128, .kind = last_dims, .tier = quick}},
    // special values
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .plant = Plant::nan_query, .tier = quick}},
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .plant = Plant::nan_key, .equality = true, .tier = quick}},
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .plant = Plant::nan_value, .tier = quick}},
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .plant = Plant::inf_key, .tier = quick}},
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .plant = Plant::inf_value, .tier = quick}},
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .plant = Plant::opposite_infs, .tier = quick}},
    {.base = {.B = 2, .H = 2, .Tk = 300, .D = 32, .tier = quick}},
    {.base = {.H = 2, .Tk = 300, .D = 32, .causal = top_left, .plant = Plant::hidden_nan_key}},
    {.base = {.H = 2, .Tk = 300, .D = 32, .causal = top_left, .plant = Plant::hidden_nan_value}},
    {.base = {.H = 2,
              .Tk = 400,  // the last segment is masked in part
              .D = 32,
              .bias = BiasShape::k,
              .mask = Masking::padding,
              .plant = Plant::masked_nan_key,
              .tier = quick}},
    {.base = {.H = 2,
              .Tk = 400,  // the last segment is masked in part
              .D = 32,
              .bias = BiasShape::k,
              .mask = Masking::padding,
              .plant = Plant::masked_nan_value,
              .tier = quick}},
};

const char* lengths_name(Lengths lengths) {
  constexpr const char* names[] = {"none", "full", "mixed", "zero"};
  return names[static_cast<int>(lengths)];
}

const char* decode_plant_name(DecodePlant plant) {
  constexpr const char* names[] = {"none", "taken_back", "nan_splits", "stale_tail", "masked_split"};
  return names[static_cast<int>(plant)];
}

}  // namespace

std::int64_t decode_length(const DecodeProblem& problem, std::int64_t b) {
  const std::int64_t Tk = problem.base.Tk;
  if (problem.lengths == Lengths::zero) return 0;
  if (problem.lengths != Lengths::mixed && problem.plant != DecodePlant::taken_back) return Tk;
  const std::int64_t of[] = {Tk, Tk / 2 + 1, 0, 1, 255, 256, 257, 511, Tk - 1};
  // Strangers that have keys.
  const std::int64_t strangers[] = {Tk, Tk / 2 + 2, 78};
  const std::int64_t length = problem.lengths == Lengths::mixed ? of[b % 9] : strangers[b % 3];
  return std::min(length, Tk);
}

std::string decode_problem_name(const DecodeProblem& problem) {
  AttentionProblem base = problem.base;
  base.plant = Plant::none;
  std::string name = problem_name(base);
  if (problem.lengths != Lengths::none) name += fmt::format(",lens={}", lengths_name(problem.lengths));
  if (problem.q_round) name += ",q_round";
  if (problem.base.plant != Plant::none) name += fmt::format(",plant={}", plant_name(problem.base.plant));
  if (problem.plant != DecodePlant::none) name += fmt::format(",plant={}", decode_plant_name(problem.plant));
  return name;
}

void add_decode_power(std::vector<DecodeProblem>& list, std::int64_t keys, std::int64_t heads) {
  const Tier tier = keys == 64 ? quick : Tier::standard;
  for (const AttentionKind kind : {negative, markers, rising, last_dims})
    list.push_back(
        {.base = {.H = heads, .Hk = 2, .Tk = keys, .D = 32, .kind = kind, .tier = tier, .size_class = keys}});
  // A dropped or stale key: in `clusters` each of 32 heads sees its own keys, in `balanced` one head sees all. The
  // first is dear where keys are many.
  if (keys > 8192)
    list.push_back({.base = {.H = heads, .Hk = 2, .Tk = keys, .D = 32, .kind = balanced, .size_class = keys}});
  else
    list.push_back({.base = {.H = 32, .Hk = 1, .Tk = keys, .D = 32, .Dv = 64, .kind = clusters, .size_class = keys}});
}

std::span<const DecodeProblem> decode_problems() {
  static const std::vector<DecodeProblem> all = [] {
    std::vector<DecodeProblem> list(std::begin(table), std::end(table));
    for (const std::int64_t keys : {64, 1024, 8192}) add_decode_power(list, keys, 8);
    add_decode_power(list, 65536, 4);
    return list;
  }();
  return all;
}

}  // namespace nbx::contracts
