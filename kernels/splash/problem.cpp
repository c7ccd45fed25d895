#include "kernels/splash/problem.hpp"

#include <cmath>

#include "kernels/pack/require.hpp"

namespace nbx::splash {
namespace {

using pack::refuse;
using pack::Tensor;
using pack::text;

bool flag(const pack::Problem& given, std::string_view name, bool otherwise) {
  const auto value = given.integer(name);
  if (!value) return otherwise;
  if (*value != 0 && *value != 1) refuse(NBX_INVALID, name, text(*value), "0 or 1");
  return *value == 1;
}

/// mk: [2, H, nQ] or [B, 2, H, nQ]. The layout of one bound per head, [2, H], is refused by its own words.
void require_mk_shape(const Tensor& mk, const Splash& s) {
  const std::int64_t shared[] = {2, s.H, s.blocks}, per_batch[] = {s.B, 2, s.H, s.blocks};
  const std::string accepted = text(shared, 3) + " or " + text(per_batch, 4) + " ([2, H, nQ] or [B, 2, H, nQ])";
  if (mk.rank == 2) {
    refuse(NBX_INVALID, "mk", "rank 2, shape " + text(mk.shape, 2),
           accepted +
               ": shift and flag are per query block now, where [2, H] had one bound per head; repeat that bound "
               "along nQ");
  }
  bool fits = mk.rank == 3 || mk.rank == 4;
  for (int axis = 0; fits && axis < mk.rank; ++axis) {
    fits = mk.shape[axis] == (mk.rank == 3 ? shared[axis] : per_batch[axis]);
  }
  if (!fits) refuse(NBX_INVALID, "mk", "shape " + text(mk.shape, mk.rank), accepted);
}

void read_fixed_m(const pack::Problem& given, const Support& support) {
  const bool possible = support.metadata != Metadata::none;
  const bool fixed = flag(given, "fixed_m", possible);
  const bool uniform = flag(given, "uniform", support.uniform);
  if (uniform && !fixed) {
    refuse(NBX_INVALID, "uniform", "1 with fixed_m 0", "fixed_m 1: what is uniform is the fixed shift");
  }
  if (fixed && !possible) {
    refuse(NBX_INVALID, "fixed_m", "1", "0: this kernel keeps a running maximum");
  }
  if (!fixed && possible) refuse(NBX_INVALID, "fixed_m", "0", "1: this kernel is fixed-m");
  if (uniform && !support.uniform) refuse(NBX_INVALID, "uniform", "1", "0: this kernel looks at the flags");
}

void read_metadata(const pack::Problem& given, const Support& support, Splash& s) {
  const bool made = support.metadata == Metadata::made;
  const nbx_role role = made ? NBX_OUT : NBX_IN;
  // A kernel that attends may be handed metadata by name elsewhere: what it makes itself has names of its own.
  const bool own_names = made && support.attends;
  s.mk = given.tensor({own_names ? "mk_made" : "mk", role, 1, 8, made});
  s.k_mean = given.tensor({own_names ? "k_mean_made" : "k_mean", role, 1, 8, made});
  if (s.Tq % s.block_q != 0) {
    refuse(NBX_INVALID, "q", "q_len " + text(s.Tq), "a multiple of block_q " + text(s.block_q));
  }
  if (s.mk) {
    require_type(*s.mk, {pack::f32_type});
    require_mk_shape(*s.mk, s);
    if (made && s.mk->rank == 3 && s.B > 1) {
      refuse(NBX_INVALID, s.mk->name, "shape " + text(s.mk->shape, 3) + " for batch " + text(s.B),
             "[B, 2, H, nQ]: each batch entry has bounds of its own");
    }
  }
  if (s.k_mean) {
    require_type(*s.k_mean, {pack::f32_type});
    require_shape(*s.k_mean, {s.B, s.Hk, s.D}, "[B, Hk, D] of k");
  }
}

void read_sums(const pack::Problem& given, Splash& s) {
  s.o_sum = given.tensor({"o_sum", NBX_PARTIAL, 4, 4, true});
  s.l = given.tensor({"l", NBX_PARTIAL, 3, 3, true});
  s.m = given.tensor({"m", NBX_PARTIAL, 3, 3, true});
  for (const auto* tensor : {&s.o_sum, &s.l, &s.m}) {
    if (*tensor) require_type(**tensor, {pack::f32_type});
  }
  if (s.o_sum) require_shape(*s.o_sum, {s.B, s.H, s.Tq, s.Dv}, "that of o");
  for (const auto* tensor : {&s.l, &s.m}) {
    if (*tensor) require_shape(**tensor, {s.B, s.H, s.Tq}, "the rows of q");
  }
}

void know(const pack::Problem& given, const Support& support) {
  const std::initializer_list<std::string_view> params{"block_q", "v_max", "fixed_m", "uniform", "per_head", "ftz"};
  if (!support.attends) {
    given.know({"q", "k", "v", "mk", "k_mean", "q_norm2", "k_norm2", "v_ok"}, params);
  } else if (support.sums) {
    given.know({"q", "k", "v", "mk", "k_mean", "o", "o_sum", "l", "m"}, params);
  } else if (support.metadata == Metadata::none) {
    given.know({"q", "k", "v", "o"}, params);
  } else if (support.metadata == Metadata::made) {
    given.know({"q", "k", "v", "mk_made", "k_mean_made", "o"}, params);
  } else {
    given.know({"q", "k", "v", "mk", "k_mean", "o"}, params);
  }
}

}  // namespace

void require_shape(const Tensor& tensor, std::initializer_list<std::int64_t> shape, std::string_view as) {
  bool fits = tensor.rank == static_cast<int>(shape.size());
  int axis = 0;
  for (const std::int64_t size : shape) {
    fits = fits && tensor.shape[axis] == size;
    ++axis;
  }
  if (fits) return;
  refuse(NBX_INVALID, tensor.name, "shape " + text(tensor.shape, tensor.rank),
         text(std::data(shape), static_cast<int>(shape.size())) + ", " + std::string(as));
}

MkLayout Splash::mk_layout() const {
  const pack::Layout<4> at = pack::layout<4>(*mk);
  return {at.stride[0], at.stride[1], at.stride[2], at.stride[3]};
}

void read_shapes(const pack::Problem& given, DLDataType format, Splash& s) {
  s.q = *given.tensor({"q", NBX_IN, 4, 4});
  s.k = *given.tensor({"k", NBX_IN, 4, 4});
  s.v = *given.tensor({"v", NBX_IN, 4, 4});
  for (const Tensor* tensor : {&s.q, &s.k, &s.v}) require_type(*tensor, {format});
  s.B = s.q.shape[0], s.H = s.q.shape[1], s.Tq = s.q.shape[2], s.D = s.q.shape[3];
  s.Hk = s.k.shape[1], s.Tk = s.k.shape[2], s.Dv = s.v.shape[3];
  constexpr std::int64_t widest = 512;
  for (const Tensor* tensor : {&s.q, &s.v}) {
    const std::int64_t dim = tensor->shape[3];
    if (dim < 1) refuse(NBX_INVALID, tensor->name, "head dim 0", "at least 1");
    if (dim > widest) refuse(NBX_UNSUPPORTED, tensor->name, "head dim " + text(dim), "at most " + text(widest));
  }
  require_size(s.k, 3, "head dim", s.D, "the head dim of q");
  require_size(s.k, 0, "batch", s.B, "the batch of q");
  require_heads(s.k, s.H);
  require_size(s.v, 0, "batch", s.B, "the batch of k");
  require_size(s.v, 1, "KV heads", s.Hk, "the KV heads of k");
  require_size(s.v, 2, "keys", s.Tk, "the keys of k");
  if (s.Tk < 1) refuse(NBX_INVALID, "k", "keys 0", "at least 1: the window is that of N ≥ 1 keys");
}

void read_parameters(const pack::Problem& given, Splash& s) {
  s.block_q = given.integer("block_q").value_or(64);
  if (s.block_q < 1) refuse(NBX_INVALID, "block_q", text(s.block_q), "at least 1");
  if (const auto v_max = given.real("v_max")) {
    s.v_max = static_cast<float>(*v_max);
    if (!(s.v_max > 0) || !std::isfinite(s.v_max) || static_cast<double>(s.v_max) != *v_max) {
      refuse(NBX_INVALID, "v_max", text(*v_max), "a positive finite fp32 number");
    }
  }
  s.per_head = flag(given, "per_head", false);
  s.ftz = flag(given, "ftz", false);
  s.blocks = (s.Tq + s.block_q - 1) / s.block_q;
}

Splash read_splash(const nbx_problem& problem, const Support& support, bool with_data) {
  const pack::Problem given(problem, support.family, support.device);
  know(given, support);
  Splash s;
  read_shapes(given, support.format, s);
  read_parameters(given, s);
  read_fixed_m(given, support);
  if (support.metadata != Metadata::none) read_metadata(given, support, s);
  if (support.attends) {
    s.o = given.tensor({"o", NBX_OUT, 4, 4});
    require_type(*s.o, {support.format});
    require_shape(*s.o, {s.B, s.H, s.Tq, s.Dv}, "the rows of q, the head dim of v");
    if (support.sums) read_sums(given, s);
  } else {
    s.q_norm2 = given.tensor({"q_norm2", NBX_OUT, 3, 3, true});
    s.k_norm2 = given.tensor({"k_norm2", NBX_OUT, 2, 2, true});
    s.v_ok = given.tensor({"v_ok", NBX_OUT, 2, 2, true});
    for (const auto* tensor : {&s.q_norm2, &s.k_norm2, &s.v_ok}) {
      if (*tensor) require_type(**tensor, {pack::f32_type});
    }
    if (s.q_norm2) require_shape(*s.q_norm2, {s.B, s.H, s.blocks}, "[B, H, nQ]");
    if (s.k_norm2) require_shape(*s.k_norm2, {s.B, s.Hk}, "[B, Hk]");
    if (s.v_ok) require_shape(*s.v_ok, {s.B, s.Hk}, "[B, Hk]");
  }
  if (with_data) given.require_data();
  return s;
}

}  // namespace nbx::splash
