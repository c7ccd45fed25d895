#include "kernels/splash/ring_problem.hpp"

#include <algorithm>
#include <charconv>

namespace nbx::splash {
namespace {

using pack::refuse;
using pack::text;

std::string joined(const std::vector<std::int64_t>& numbers) {
  std::string out;
  for (const std::int64_t number : numbers) out.append(out.empty() ? "" : ",").append(text(number));
  return out;
}

/// "1,2,3,0"; nothing where it is no such list.
std::optional<std::vector<std::int64_t>> numbers(std::string_view list) {
  std::vector<std::int64_t> out;
  const char* at = list.data();
  const char* const end = list.data() + list.size();
  for (;;) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    out.push_back(number);
    if (next == end) return out;
    if (*next != ',') return std::nullopt;
    at = next + 1;
  }
}

void read_group(const nbx_problem& problem, const pack::Problem& given, bool with_data, Ring& s) {
  s.rank = problem.rank, s.ranks = problem.ranks;
  if (s.ranks < 1 || s.rank < 0 || s.rank >= s.ranks) {
    refuse(NBX_INVALID, "rank", std::to_string(s.rank) + " of " + std::to_string(s.ranks), "0 to ranks - 1");
  }
  if (s.ranks > most_ranks)
    refuse(NBX_UNSUPPORTED, "ranks", std::to_string(s.ranks), "at most " + std::to_string(most_ranks));
  if (const auto size = given.integer("ring_size"); size && *size != s.ranks) {
    refuse(NBX_INVALID, "ring_size", text(*size), std::to_string(s.ranks) + ", the ranks of the group");
  }
  if (const auto order = given.word("permutation")) {
    std::vector<std::int64_t> next;
    for (int i = 0; i < s.ranks; ++i) next.push_back((i + 1) % s.ranks);
    if (numbers(*order) != next) {
      refuse(NBX_INVALID, "permutation", *order, joined(next) + ": rank i sends to rank i + 1");
    }
  }
  if (!with_data || s.ranks == 1) return;
  s.communicator = problem.communicator;
  if (s.communicator == nullptr) {
    refuse(NBX_INVALID, "communicator", "none for " + std::to_string(s.ranks) + " ranks", "one of the ring's group");
  }
  if (s.communicator->ranks != s.ranks || s.communicator->rank != s.rank) {
    refuse(NBX_INVALID, "communicator",
           "rank " + std::to_string(s.communicator->rank) + " of " + std::to_string(s.communicator->ranks),
           "rank " + std::to_string(s.rank) + " of " + std::to_string(s.ranks) + ", as the problem has it");
  }
}

void read_shards(const pack::Problem& given, Ring& s) {
  s.shard_keys.assign(static_cast<std::size_t>(s.ranks), s.Tk);
  if (const auto list = given.word("shard_keys")) {
    const auto keys = numbers(*list);
    const bool fits = keys && keys->size() == s.shard_keys.size() &&
                      std::all_of(keys->begin(), keys->end(), [&](std::int64_t n) { return n >= 0 && n <= s.Tk; });
    if (!fits) {
      refuse(NBX_INVALID, "shard_keys", *list,
             std::to_string(s.ranks) + " numbers of keys, one a rank, each from 0 to the " + text(s.Tk) +
                 " that a shard holds");
    }
    s.shard_keys = *keys;
  }
  for (const std::int64_t keys : s.shard_keys) s.all_keys += keys;
  if (s.all_keys < 1) refuse(NBX_INVALID, "shard_keys", joined(s.shard_keys), "at least 1 key in all");
}

/// Norms travel squared, and the call says so: a norm in place of its square would pass a gate far too wide.
void read_norms(const pack::Problem& given, Ring& s) {
  const auto norms = given.word("norms");
  if (!norms) refuse(NBX_INVALID, "norms", "missing", "squared");
  if (*norms != "squared") refuse(NBX_INVALID, "norms", *norms, "squared");
  const std::int64_t gathered = given.integer("pregathered").value_or(0);
  if (gathered != 0 && gathered != 1) refuse(NBX_INVALID, "pregathered", text(gathered), "0 or 1");
  s.pregathered = gathered == 1;
  const std::int64_t of = s.pregathered ? s.ranks : 1;
  s.k_norm2 = given.tensor({"k_norm2", NBX_IN, 1, 8});
  s.v_ok = given.tensor({"v_ok", NBX_IN, 1, 8});
  for (const auto* tensor : {&s.k_norm2, &s.v_ok}) {
    require_type(**tensor, {pack::f32_type});
    require_shape(**tensor, {of, s.B, s.Hk},
                  s.pregathered ? "[ranks, B, Hk], as they are gathered already" : "[1, B, Hk], this rank's own");
  }
  s.k_mean = given.tensor({"k_mean", NBX_IN, 1, 8, true});
  if (s.k_mean) {
    require_type(*s.k_mean, {pack::f32_type});
    require_shape(*s.k_mean, {s.B, s.Hk, s.D}, "[B, Hk, D] of k, the mean of the keys of all ranks");
  }
  s.mk_made = given.tensor({"mk_made", NBX_OUT, 5, 5, true});
  if (s.mk_made) {
    require_type(*s.mk_made, {pack::f32_type});
    require_shape(*s.mk_made, {1 + s.ranks, s.B, 2, s.H, s.blocks}, "[1 + ranks, B, 2, H, nQ]");
  }
  s.uniform_made = given.tensor({"uniform_made", NBX_OUT, 1, 1, true});
  if (s.uniform_made) {
    require_type(*s.uniform_made, {pack::f32_type});
    require_shape(*s.uniform_made, {1}, "this rank's own word");
  }
}

void read_words(const pack::Problem& given, const RingSupport& support, Ring& s) {
  const auto flag = [&](const char* name, bool otherwise) {
    const std::int64_t value = given.integer(name).value_or(otherwise ? 1 : 0);
    if (value != 0 && value != 1) refuse(NBX_INVALID, name, text(value), "0 or 1");
    return value == 1;
  };
  const bool both = flag("bidirectional", !support.fixed), fixed = flag("fixed_m", support.fixed);
  if (both && fixed) {
    refuse(NBX_INVALID, support.fixed ? "bidirectional" : "fixed_m", support.fixed ? "1 with fixed_m 1" : "1",
           "0: a ring in both directions keeps a running maximum");
  }
  if (fixed != support.fixed) {
    refuse(NBX_INVALID, "fixed_m", fixed ? "1" : "0",
           fixed ? "0: this ring keeps a running maximum" : "1: this ring is fixed-m where it may be");
  }
  if (both == support.fixed) refuse(NBX_INVALID, "bidirectional", both ? "1" : "0", both ? "0" : "1");
  s.ftz = flag("ftz", false);
}

}  // namespace

Ring read_ring(const nbx_problem& problem, const RingSupport& support, bool with_data) {
  const pack::Problem given(problem, support.family, support.device, true);
  if (support.fixed) {
    given.know({"q", "k", "v", "k_norm2", "v_ok", "k_mean", "o", "mk_made", "uniform_made"},
               {"block_q", "v_max", "fixed_m", "ftz", "ring_size", "permutation", "shard_keys", "norms", "pregathered",
                "bidirectional"});
  } else {
    given.know({"q", "k", "v", "o"},
               {"block_q", "v_max", "fixed_m", "ftz", "ring_size", "permutation", "shard_keys", "bidirectional"});
  }
  Ring s;
  read_group(problem, given, with_data, s);
  read_shapes(given, support.format, s);
  read_parameters(given, s);
  read_words(given, support, s);
  read_shards(given, s);
  if (support.fixed) {
    if (s.Tq % s.block_q != 0) {
      refuse(NBX_INVALID, "q", "q_len " + text(s.Tq), "a multiple of block_q " + text(s.block_q));
    }
    read_norms(given, s);
  }
  s.o = given.tensor({"o", NBX_OUT, 4, 4});
  require_type(*s.o, {support.format});
  require_shape(*s.o, {s.B, s.H, s.Tq, s.Dv}, "the rows of q, the head dim of v");
  if (with_data) given.require_data();
  return s;
}

}  // namespace nbx::splash
