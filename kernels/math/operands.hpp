// Host: from a checked problem to what a kernel reads it by.
#pragma once

#include "kernels/math/arguments.hpp"

namespace nbx::math {

/// R::layout says how strides are read.
template <class R, class T, class O>
void take_operands(const pack::Attention& a, Operands<T, O>& out) {
  out.B = a.B, out.H = a.H, out.Hk = a.Hk, out.Tq = a.Tq, out.Tk = a.Tk, out.D = a.D, out.Dv = a.Dv;
  out.group = a.group();
  out.causal = a.causal;
  out.scale = a.scale;
  out.q = a.q.as<const T>();
  out.k = a.k.as<const T>();
  out.v = a.v.as<const T>();
  out.o = a.o.as<O>();
  out.q_at = R::template layout<4>(a.q);
  out.k_at = R::template layout<4>(a.k);
  out.v_at = R::template layout<4>(a.v);
  out.o_at = R::template layout<4>(a.o);
  if (a.bias) {
    out.bias = a.bias->data;
    out.bias_in_f32 = pack::same(a.bias->type, pack::f32_type);
    out.bias_at = R::template layout<4>(*a.bias);
    if (a.bias->rank == 3) {  // [B, Tq, Tk]: no axis of heads
      out.bias_at.stride[0] = out.bias_at.stride[1];
      out.bias_at.stride[1] = 0;
    }
  }
  if (a.lse) {
    out.lse = a.lse->as<float>();
    out.lse_at = R::template layout<3>(*a.lse);
  }
}

}  // namespace nbx::math
