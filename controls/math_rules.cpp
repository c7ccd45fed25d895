// math and chunked composed with one rule of their arithmetic replaced.
#include "controls/math_parts.hpp"
#include "controls/tables.hpp"

namespace nbx::controls {
namespace {

using math::Rules;
using tile::bf16;
using tile::f16;

/// Query heads of a KV head taken a stride of Hk apart.
struct InterleavedHeads : Rules {
  template <class A>
  NBX_FUNCTION static std::int64_t head(const A& a, std::int64_t kv_head, std::int64_t member) {
    return member * a.Hk + kv_head;
  }
};

template <class Narrow>
struct NarrowWeights : Rules {
  template <class T>
  NBX_FUNCTION static T normalised(float weight, float sum) {
    return tile::encode<T>(tile::narrow<Narrow>(tile::divide(weight, sum)));
  }
};

template <class Narrow>
struct NarrowAccumulator : Rules {
  struct Unit {
    NBX_FUNCTION static float multiply_add(float a, float b, float sum) {
      return tile::narrow<Narrow>(tile::fma(a, b, sum));
    }
  };
};

struct Truncated : Rules {
  template <class T>
  NBX_FUNCTION static T output(float sum) {
    const T nearest = tile::encode<T>(tile::settle(sum));
    const float kept = tile::decode(nearest);
    const bool outward = kept > sum ? sum > 0 : kept < sum && sum < 0;
    return outward ? T{static_cast<typename T::Bits>(nearest.bits - 1U)} : nearest;
  }
};

struct Flushed : Rules {
  template <class T>
  NBX_FUNCTION static T output(float sum) {
    const float settled = tile::settle(sum);
    return tile::encode<T>(settled < 0x1p-126F && settled > -0x1p-126F ? 0.0F : settled);
  }
};

struct BaseTwoLse : Rules {
  NBX_FUNCTION static float lse(float max, float sum) { return Rules::lse(max, sum) * 0x1.715476p0F; }
};

struct NoMaxLse : Rules {
  NBX_FUNCTION static float lse(float, float sum) { return tile::log(sum); }
};

struct BiasTwice : Rules {
  NBX_FUNCTION static float biased(float score, float bias) { return Rules::biased(score, bias) + bias; }
};

struct BiasUnseen : Rules {
  NBX_FUNCTION static float biased(float score, float bias) {
    return tile::select(bias == Max::identity, Max::identity, score);
  }
};

/// The last chunk of several is left out.
struct NoLastChunk : Rules {
  static std::int64_t chunk_rows(std::int64_t first, std::int64_t height, std::int64_t Tq) {
    return first > 0 && first + height >= Tq ? 0 : Rules::chunk_rows(first, height, Tq);
  }
};

/// Chunks behind the first end a row early.
struct ShortChunk : Rules {
  static std::int64_t chunk_rows(std::int64_t first, std::int64_t height, std::int64_t Tq) {
    return Rules::chunk_rows(first, height, Tq) - (first > 0 ? 1 : 0);
  }
};

/// Causality counts queries from the start of the chunk.
struct CausalInChunk : Rules {
  template <class A>
  NBX_FUNCTION static std::int64_t visible(const A& a, std::int64_t i) {
    return Rules::visible(a, i - a.first);
  }
};

constexpr char ordinary[] = "B=1,H=3,Hk=1,Tq=7,Tk=63,D=72,normal";

constexpr Mutation rows[] = {
    {.name = "heads_interleaved",
     .planted = "the query heads of a KV head are taken a stride of Hk apart",
     .red_at = {"gate1.reference"},
     .problems = {"B=3,H=6,Hk=2,Tq=9,Tk=65,D=80,Dv=24,normal"},
     .on = {in_math<float, InterleavedHeads>(), in_chunked<bf16, InterleavedHeads>()}},
    {.name = "weights_narrowed",
     .planted = "the weights are narrowed one format too far before P·V: f32 to f16, f16 to bf16, bf16 to e4m3",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_math<float, NarrowWeights<f16>>(), in_math<f16, NarrowWeights<bf16>>(),
            in_math<bf16, NarrowWeights<tile::e4m3>>()}},
    {.name = "accumulator_in_f16",
     .planted = "both products are accumulated in f16",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_math<f16, NarrowAccumulator<f16>>()}},
    {.name = "accumulator_in_bf16",
     .planted = "both products are accumulated in bf16",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_chunked<bf16, NarrowAccumulator<bf16>>()}},
    {.name = "truncated",
     .planted = "outputs are cut towards zero: within the bound, most of which is due to narrowed weights; bits tell",
     .red_at = {"gate3.pair"},
     .problems = {ordinary},
     .on = {in_chunked<bf16, Truncated>(), in_chunked<f16, Truncated>()}},
    {.name = "subnormals_flushed",
     .planted = "outputs below the smallest normal number become zero",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=16,Tk=200,D=64,tiny"},
     .on = {in_math<float, Flushed>()}},
    {.name = "lse_in_base_2",
     .planted = "the LSE is in base 2 in place of base e",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_math<f16, BaseTwoLse>(), in_chunked<float, BaseTwoLse>()}},
    {.name = "lse_without_max",
     .planted = "the maximum is left out of the LSE",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_math<bf16, NoMaxLse>()}},
    {.name = "bias_twice",
     .planted = "the bias is added twice",
     .red_at = {"gate1.reference"},
     .problems = {"B=2,H=2,Hk=1,Tq=19,Tk=67,D=32,bias=qk,normal"},
     .on = {in_math<f16, BiasTwice>()}},
    {.name = "bias_only_masks",
     .planted = "of a bias only −inf is seen",
     .red_at = {"gate1.reference"},
     .problems = {"B=2,H=2,Hk=1,Tq=19,Tk=67,D=32,bias=bqk,mask=holes,normal"},
     .on = {in_math<bf16, BiasUnseen>()}},
    {.name = "last_chunk_dropped",
     .planted = "the last of several chunks is left out",
     .red_at = {"gate1.reference", "gate3.chunk"},
     .problems = {"B=2,H=2,Hk=1,Tq=19,Tk=67,D=32,bias=qk,normal"},
     .on = {in_chunked<float, NoLastChunk>()}},
    {.name = "chunk_a_row_short",
     .planted = "chunks behind the first end a row early",
     .red_at = {"gate1.reference", "gate3.chunk"},
     .problems = {"B=2,H=8,Hk=1,Tq=17,Tk=33,D=16,normal"},
     .on = {in_chunked<f16, ShortChunk>()}},
    {.name = "causal_from_chunk_start",
     .planted = "causality counts queries from the start of their chunk",
     .red_at = {"gate1.reference", "gate3.chunk"},
     .problems = {"B=1,H=2,Hk=1,Tq=33,Tk=17,D=32,causal=top_left,normal"},
     .on = {in_chunked<bf16, CausalInChunk>()}},
};

}  // namespace

std::span<const Mutation> math_rules() { return rows; }

}  // namespace nbx::controls
