// The families of splash attention, read from a problem: q [B, H, Tq, D] multiplied by log2 e, k [B, Hk, Tk, D] by
// 1/√D, v [B, Hk, Tk, Dv]; weights are exp2(q·k − m). kernels/README.md lists tensors and parameters.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/pack/problem.hpp"
#include "kernels/splash/constants.hpp"

namespace nbx::splash {

/// What a kernel does with fixed-m metadata.
enum class Metadata : std::uint8_t {
  none,   // it keeps a running maximum: fixed_m must be 0
  given,  // mk and k_mean are its inputs
  made,   // it makes them, and gives them where asked
};

struct Support {
  const char* family;
  DLDataType format;
  DLDeviceType device;
  Metadata metadata = Metadata::none;
  bool attends = true;   // o, and v against it
  bool sums = false;     // o_sum, l and m too
  bool uniform = false;  // parameter uniform may be 1
};

/// Strides of mk, [2, H, nQ] or [B, 2, H, nQ], in elements.
struct MkLayout {
  std::int64_t batch = 0, part = 0, head = 0, block = 0;
};

struct Splash {
  std::int64_t B = 0, H = 0, Hk = 0, Tq = 0, Tk = 0, D = 0, Dv = 0;
  std::int64_t block_q = 0, blocks = 0;  // query rows of a block, blocks of a head
  pack::Tensor q, k, v;
  std::optional<pack::Tensor> o, o_sum, l, m, mk, k_mean, q_norm2, k_norm2, v_ok;
  float v_max = 256;
  bool per_head = false, ftz = false;

  std::int64_t group() const { return Hk == 0 ? 0 : H / Hk; }
  MkLayout mk_layout() const;
};

/// Reads and checks a problem; throws a Refusal. `with_data` also asks that tensors have data.
Splash read_splash(const nbx_problem& problem, const Support& support, bool with_data);

/// The parts of reading that the ring shares. `given` knows its names already.
void read_shapes(const pack::Problem& given, DLDataType format, Splash& s);
void read_parameters(const pack::Problem& given, Splash& s);
/// `tensor` has this shape.
void require_shape(const pack::Tensor& tensor, std::initializer_list<std::int64_t> shape, std::string_view as);

}  // namespace nbx::splash
