#include "kernels/paged/problem.hpp"

#include <unordered_map>

#include "kernels/pack/require.hpp"

namespace nbx::paged {
namespace {

using pack::refuse;
using pack::text;

/// "2 of sequence 1".
std::string of_sequence(std::int64_t value, std::int64_t b) { return text(value) + " of sequence " + text(b); }

}  // namespace

Append read_append(const nbx_problem& problem, const Support& support, bool with_data) {
  const pack::Problem given(problem, "paged_append", support.device);
  given.know({"new", "slots", "pool"}, {});
  Append a;
  a.tokens = *given.tensor({"new", NBX_IN, 3, 3});
  a.slots = *given.tensor({"slots", NBX_IN, 1, 1});
  a.pool = *given.tensor({"pool", NBX_INOUT, 4, 4});
  require_type(a.tokens, {support.format, pack::f32_type});
  require_type(a.slots, {pack::int32_type});
  require_type(a.pool, {support.format});
  a.N = a.tokens.shape[0], a.Hk = a.tokens.shape[1], a.D = a.tokens.shape[2];
  a.pages = a.pool.shape[0], a.page_tokens = a.pool.shape[2];
  a.casts = !pack::same(a.tokens.type, support.format);
  require_size(a.slots, 0, "tokens", a.N, "the tokens of new");
  require_size(a.pool, 1, "KV heads", a.Hk, "the KV heads of new");
  require_size(a.pool, 3, "head dim", a.D, "the head dim of new");
  if (a.places() > (std::int64_t{1} << 31)) {
    refuse(NBX_INVALID, "pool", text(a.places()) + " places in " + text(a.pool.shape, 4),
           "at most 2^31: slots are int32");
  }
  if (with_data) given.require_data();
  return a;
}

void require_slots(const Append& append, const std::int32_t* slots) {
  std::unordered_map<std::int32_t, std::int64_t> taken;
  for (std::int64_t n = 0; n < append.N; ++n) {
    const std::int32_t slot = slots[n];
    if (slot == -1) continue;
    if (slot < 0 || slot >= append.places()) {
      refuse(NBX_INVALID, "slots", text(std::int64_t{slot}) + " of token " + text(n),
             "-1, or 0 to " + text(append.places() - 1) + ", the places of pool");
    }
    const auto [other, fresh] = taken.emplace(slot, n);
    if (!fresh) {
      refuse(NBX_INVALID, "slots", text(std::int64_t{slot}) + " of tokens " + text(other->second) + " and " + text(n),
             "a slot of its own for each token");
    }
  }
}

Decode read_decode(const nbx_problem& problem, const Support& support, bool with_data) {
  const pack::Problem given(problem, "paged_decode", support.device);
  given.know({"q", "k_pool", "v_pool", "block_table", "seq_lens", "o", "lse"}, {"scale", "max_seq_len", "q_round"});
  Decode d;
  d.q = *given.tensor({"q", NBX_IN, 4, 4});
  d.k_pool = *given.tensor({"k_pool", NBX_IN, 4, 4});
  d.v_pool = *given.tensor({"v_pool", NBX_IN, 4, 4});
  d.block_table = *given.tensor({"block_table", NBX_IN, 2, 2});
  d.seq_lens = *given.tensor({"seq_lens", NBX_IN, 1, 1});
  d.o = *given.tensor({"o", NBX_OUT, 4, 4});
  d.lse = given.tensor({"lse", NBX_OUT, 3, 3, true});
  const std::int64_t q_round = given.integer("q_round").value_or(0);
  if (q_round != 0 && q_round != 1) refuse(NBX_INVALID, "q_round", text(q_round), "0 or 1");
  d.q_round = q_round == 1;
  require_type(d.q, {d.q_round ? pack::f32_type : support.format});
  for (const pack::Tensor* tensor : {&d.k_pool, &d.v_pool, &d.o}) require_type(*tensor, {support.format});
  for (const pack::Tensor* tensor : {&d.block_table, &d.seq_lens}) require_type(*tensor, {pack::int32_type});
  if (d.lse) require_type(*d.lse, {pack::f32_type});

  d.B = d.q.shape[0], d.H = d.q.shape[1], d.D = d.q.shape[3];
  d.pages = d.k_pool.shape[0], d.Hk = d.k_pool.shape[1], d.page_tokens = d.k_pool.shape[2], d.Dv = d.v_pool.shape[3];
  d.max_pages = d.block_table.shape[1];
  require_size(d.q, 2, "queries", 1, "one query a sequence");
  if (d.D < 1) refuse(NBX_INVALID, "q", "head dim 0", "at least 1");
  if (d.Dv < 1) refuse(NBX_INVALID, "v_pool", "head dim 0", "at least 1");
  require_size(d.k_pool, 3, "head dim", d.D, "the head dim of q");
  require_heads(d.k_pool, d.H);
  require_size(d.v_pool, 0, "pages", d.pages, "the pages of k_pool");
  require_size(d.v_pool, 1, "KV heads", d.Hk, "the KV heads of k_pool");
  require_size(d.v_pool, 2, "page tokens", d.page_tokens, "the page tokens of k_pool");
  if (d.page_tokens < 1 || d.page_tokens % position_tile != 0) {
    refuse(NBX_INVALID, "k_pool", "page tokens " + text(d.page_tokens) + " in " + text(d.k_pool.shape, 4),
           "a multiple of " + text(position_tile));
  }
  require_size(d.block_table, 0, "sequences", d.B, "the batch of q");
  require_size(d.seq_lens, 0, "sequences", d.B, "the batch of q");
  require_size(d.o, 0, "batch", d.B, "the batch of q");
  require_size(d.o, 1, "heads", d.H, "the heads of q");
  require_size(d.o, 2, "queries", 1, "the queries of q");
  require_size(d.o, 3, "head dim", d.Dv, "the head dim of v_pool");
  if (d.lse) {
    require_size(*d.lse, 0, "batch", d.B, "the batch of q");
    require_size(*d.lse, 1, "heads", d.H, "the heads of q");
    require_size(*d.lse, 2, "queries", 1, "the queries of q");
  }
  const auto most = given.integer("max_seq_len");
  if (!most) refuse(NBX_INVALID, "max_seq_len", "missing", "required: the device's lengths are not read by run");
  if (*most < 0) refuse(NBX_INVALID, "max_seq_len", text(*most), "at least 0");
  d.max_seq_len = *most;
  d.scale = read_scale(given, d.D);
  if (with_data) given.require_data();
  return d;
}

void require_tables(const Decode& decode, const std::int32_t* block_table, const std::int32_t* seq_lens) {
  for (std::int64_t b = 0; b < decode.B; ++b) {
    const std::int64_t length = seq_lens[b];
    if (length < 0 || length > decode.capacity()) {
      refuse(NBX_INVALID, "seq_lens", of_sequence(length, b),
             "0 to " + text(decode.capacity()) + ", what " + text(decode.max_pages) + " pages of block_table hold");
    }
    if (length > decode.max_seq_len) {
      refuse(NBX_INVALID, "max_seq_len", text(decode.max_seq_len), "at least " + of_sequence(length, b));
    }
    for (std::int64_t page = 0; page * decode.page_tokens < length; ++page) {
      const std::int32_t entry = block_table[b * decode.max_pages + page];
      if (entry >= 0 && entry < decode.pages) continue;
      refuse(NBX_INVALID, "block_table",
             of_sequence(std::int64_t{entry}, b) + ", entry " + text(page) + ", within its " + text(length) + " keys",
             "0 to " + text(decode.pages - 1) + ", the pages of k_pool");
    }
  }
}

}  // namespace nbx::paged
