#include "kernels/q35/problem.hpp"

#include "kernels/pack/require.hpp"

namespace nbx::q35 {
namespace {

using pack::refuse;
using pack::text;

constexpr DLDataType e4m3_type{kDLFloat8_e4m3fn, 8, 1};

void require_scales(const pack::Tensor& tensor, const Problem& p) {
  require_type(tensor, {pack::f32_type});
  require_size(tensor, 0, "KV heads", p.Hk, "the KV heads of k");
}

void require_partial(const pack::Tensor& tensor, const Problem& p) {
  require_type(tensor, {pack::f32_type});
  require_size(tensor, 0, "rows", p.rows, "the rows of q");
  require_size(tensor, 1, "heads", p.H, "the heads of q");
  require_size(tensor, 2, "chunks", p.chunks, "the parameter chunks");
}

}  // namespace

Problem read(const nbx_problem& problem, const Support& support, bool with_data) {
  const pack::Problem given(problem, "q35", support.device);
  const bool scaled = pack::same(support.cache, e4m3_type);
  if (support.partials && scaled) {
    given.know({"q", "k", "v", "k_scale", "v_scale", "stream", "limit", "pm", "pl", "po"}, {"chunks"});
  } else if (support.partials) {
    given.know({"q", "k", "v", "stream", "limit", "pm", "pl", "po"}, {"chunks"});
  } else if (scaled) {
    given.know({"q", "k", "v", "k_scale", "v_scale", "stream", "limit", "o"}, {"chunks"});
  } else {
    given.know({"q", "k", "v", "stream", "limit", "o"}, {"chunks"});
  }
  Problem p;
  p.q = *given.tensor({"q", NBX_IN, 3, 3});
  p.k = *given.tensor({"k", NBX_IN, 4, 4});
  p.v = *given.tensor({"v", NBX_IN, 4, 4});
  p.stream = *given.tensor({"stream", NBX_IN, 1, 1});
  p.limit = *given.tensor({"limit", NBX_IN, 1, 1});
  require_type(p.q, {pack::bf16_type});
  for (const pack::Tensor* tensor : {&p.k, &p.v}) require_type(*tensor, {support.cache});
  for (const pack::Tensor* tensor : {&p.stream, &p.limit}) require_type(*tensor, {pack::int32_type});
  p.rows = p.q.shape[0], p.H = p.q.shape[1];
  p.streams = p.k.shape[0], p.Hk = p.k.shape[1], p.capacity = p.k.shape[2];
  require_size(p.q, 2, "head dim", head_dim, "the only one");
  require_size(p.k, 3, "head dim", head_dim, "the only one");
  require_heads(p.k, p.H);
  require_size(p.v, 0, "streams", p.streams, "the streams of k");
  require_size(p.v, 1, "KV heads", p.Hk, "the KV heads of k");
  require_size(p.v, 2, "capacity", p.capacity, "the capacity of k");
  require_size(p.v, 3, "head dim", head_dim, "the only one");
  require_size(p.stream, 0, "rows", p.rows, "the rows of q");
  require_size(p.limit, 0, "rows", p.rows, "the rows of q");
  const auto chunks = given.integer("chunks");
  if (!chunks) refuse(NBX_INVALID, "chunks", "missing", "required: the most that any row has");
  if (*chunks < 1 || *chunks > narrow_limit / chunk_keys) {
    refuse(NBX_INVALID, "chunks", text(*chunks), "1 to " + text(narrow_limit / chunk_keys));
  }
  p.chunks = *chunks;
  if (scaled) {
    p.k_scale = given.tensor({"k_scale", NBX_IN, 1, 1});
    p.v_scale = given.tensor({"v_scale", NBX_IN, 1, 1});
    require_scales(*p.k_scale, p);
    require_scales(*p.v_scale, p);
  }
  if (support.partials) {
    p.pm = given.tensor({"pm", NBX_PARTIAL, 3, 3});
    p.pl = given.tensor({"pl", NBX_PARTIAL, 3, 3});
    p.po = given.tensor({"po", NBX_PARTIAL, 4, 4});
    for (const auto* tensor : {&p.pm, &p.pl, &p.po}) require_partial(**tensor, p);
    require_size(*p.po, 3, "head dim", head_dim, "the only one");
  } else {
    p.o = given.tensor({"o", NBX_OUT, 3, 3});
    require_type(*p.o, {pack::bf16_type});
    require_size(*p.o, 0, "rows", p.rows, "the rows of q");
    require_size(*p.o, 1, "heads", p.H, "the heads of q");
    require_size(*p.o, 2, "head dim", head_dim, "the only one");
  }
  if (with_data) given.require_data();
  return p;
}

void require_tables(const Problem& problem, const std::int32_t* stream, const std::int32_t* limit) {
  for (std::int64_t r = 0; r < problem.rows; ++r) {
    const std::string of_row = " of row " + text(r);
    if (stream[r] < 0 || stream[r] >= problem.streams) {
      refuse(NBX_INVALID, "stream", text(std::int64_t{stream[r]}) + of_row,
             "0 to " + text(problem.streams - 1) + ", the streams of k");
    }
    if (limit[r] < 0 || limit[r] > problem.capacity) {
      refuse(NBX_INVALID, "limit", text(std::int64_t{limit[r]}) + of_row,
             "0 to " + text(problem.capacity) + ", the capacity of k");
    }
    const std::int64_t width = chunk_width(limit[r]), chunks = (limit[r] + width - 1) / width;
    if (chunks > problem.chunks) {
      refuse(NBX_INVALID, "chunks", text(problem.chunks), "at least " + text(chunks) + ", those" + of_row);
    }
  }
}

}  // namespace nbx::q35
