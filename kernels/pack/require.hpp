// What several families ask of their tensors and parameters alike. All throw a Refusal.
#pragma once

#include "kernels/pack/problem.hpp"

namespace nbx::pack {

/// `tensor` has `expected` along `axis`, which is its `what`; `as` says where that size comes from.
void require_size(const Tensor& tensor, int axis, const char* what, std::int64_t expected, const char* as);

/// The KV heads (axis 1 of `k`) divide H, the heads of q.
void require_heads(const Tensor& k, std::int64_t H);

/// The parameter `scale`, a finite fp32 number; fp32(1/√D) where it is not stated.
float read_scale(const Problem& given, std::int64_t D);

}  // namespace nbx::pack
