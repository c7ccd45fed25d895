// The splash kernels without a ring: from a problem to launches.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/splash/attend.hpp"
#include "kernels/splash/metadata.hpp"

namespace nbx::splash {

inline constexpr std::int64_t default_block_rows = 32;
inline constexpr std::array<std::int64_t, 3> block_row_values{4, 16, 32};

/// Buffers of a workspace, one behind the other.
class Buffers {
 public:
  std::uint64_t take(std::string_view what, std::initializer_list<std::int64_t> floats) {
    const std::uint64_t at = bytes_;
    bytes_ += pack::round_up(pack::product(what, floats) * sizeof(float));
    return at;
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

/// Where the metadata's scratch lies.
struct Scratch {
  std::uint64_t mean, key_part, query_part, mk, all;

  Scratch(const Splash& s, Buffers& buffers)
      : mean(buffers.take("k_mean", {s.B, s.Hk, s.D})),
        key_part(buffers.take("norms", {s.B, s.Hk, 3, tile::ceil_div(s.Tk, norm_tile)})),
        query_part(buffers.take("norms", {s.B, s.H, s.blocks})),
        mk(buffers.take("mk", {s.B, 2, s.H, s.blocks})),
        all(buffers.take("all", {1})) {}
};

inline float* floats(std::byte* memory, std::uint64_t at) { return reinterpret_cast<float*>(memory + at); }

template <class Layout, class Pointer>
void give(const std::optional<pack::Tensor>& tensor, Pointer& pointer, Layout& layout) {
  constexpr int rank = sizeof(Layout) / sizeof(std::int64_t);
  if (!tensor) return;
  pointer = tensor->as<std::remove_pointer_t<Pointer>>();
  layout = pack::layout<rank>(*tensor);
}

template <class T, class R>
MetadataArguments<T> metadata_arguments(const Splash& s, const Scratch& scratch, std::byte* memory) {
  MetadataArguments<T> a{};
  a.B = s.B, a.H = s.H, a.Hk = s.Hk, a.Tq = s.Tq, a.Tk = s.Tk, a.D = s.D, a.Dv = s.Dv, a.group = s.group();
  a.block_q = s.block_q, a.blocks = s.blocks, a.key_tiles = tile::ceil_div(s.Tk, norm_tile);
  a.q = s.q.as<const T>(), a.k = s.k.as<const T>(), a.v = s.v.as<const T>();
  a.q_at = pack::layout<4>(s.q), a.k_at = pack::layout<4>(s.k), a.v_at = pack::layout<4>(s.v);
  a.mean = floats(memory, scratch.mean);
  a.key_part = floats(memory, scratch.key_part);
  a.query_part = floats(memory, scratch.query_part);
  a.all = floats(memory, scratch.all);
  if (s.mk) {
    a.mk = s.mk->as<float>();
    a.mk_at = s.mk_layout();
  } else {
    a.mk = floats(memory, scratch.mk);
    a.mk_at = {2 * s.H * s.blocks, s.H * s.blocks, s.blocks, 1};
  }
  give(s.k_mean, a.k_mean, a.k_mean_at);
  give(s.q_norm2, a.q_norm2, a.q_norm2_at);
  give(s.k_norm2, a.k_norm2, a.k_norm2_at);
  give(s.v_ok, a.v_ok, a.v_ok_at);
  a.v_max = s.v_max;
  a.window = R::window(s.Tk, s.v_max);
  a.per_head = s.per_head;
  a.holds = !std::is_same_v<T, tile::f16>;  // f16 ends at 2^16
  return a;
}

template <class Program>
void start(const char* what, const Program& program, const nbx_launch& how) {
  pack::launched(what, tile::launch(program, program.blocks(), how));
}

template <class T, class R>
void make_metadata(const MetadataArguments<T>& a, const nbx_launch& how) {
  start("key means", KeyMean<T, R>{a}, how);
  start("key norms", KeyNorms<T, R>{a}, how);
  start("query norms", QueryNorms<T, R>{a}, how);
  start("flags", Flags<T, R>{a}, how);
}

template <class T, class R>
AttendArguments<T> attend_arguments(const Splash& s, Way way) {
  AttendArguments<T> a{};
  a.B = s.B, a.H = s.H, a.Tq = s.Tq, a.Tk = R::keys(s.Tk), a.D = s.D, a.Dv = s.Dv, a.group = s.group();
  a.block_q = s.block_q, a.blocks = s.blocks;
  a.q = s.q.as<const T>(), a.k = s.k.as<const T>(), a.v = s.v.as<const T>();
  a.q_at = pack::layout<4>(s.q), a.k_at = pack::layout<4>(s.k), a.v_at = pack::layout<4>(s.v);
  give(s.o, a.o, a.o_at);
  give(s.o_sum, a.o_sum, a.o_sum_at);
  give(s.l, a.l, a.l_at);
  give(s.m, a.m, a.m_at);
  a.way = way;
  if (way != Way::online && s.mk) {
    a.mk = s.mk->as<const float>();
    a.mk_at = s.mk_layout();
    give(s.k_mean, a.k_mean, a.k_mean_at);
  }
  return a;
}

/// `height`: of a tile of query rows. Wide heads take lower ones, so that the tiles fit a block's memory.
template <class T, class R>
void attend(const AttendArguments<T>& a, bool ftz, std::int64_t height, const nbx_launch& how) {
  const std::int64_t most = a.D > 256 || a.Dv > 256 ? 16 : 32;
  const int rows = static_cast<int>(std::max<std::int64_t>(1, std::min({height, most, a.block_q})));
  if (ftz) {
    start("attention", Attend<T, R, true>{a, rows}, how);
  } else {
    start("attention", Attend<T, R, false>{a, rows}, how);
  }
}

/// What the attention kernels declare. `moves`: the maximum may move.
inline nbx_arithmetic attend_arithmetic(const Splash& s, DLDataType format, bool fixed, bool moves) {
  nbx_arithmetic out = pack::tile_arithmetic();
  const std::int64_t tiles = tile::ceil_div(s.Tk, key_tile);
  out.log2_at = NBX_EXP2_DIRECT;
  out.normalise = NBX_DIVIDE_OUTPUT;
  out.masked_value = NBX_MASKED_INERT;
  out.p_format = format;
  out.exp_ulp = tile::exp2_ulp;
  out.log_ulp = tile::log2_ulp;
  out.sum_depth = tile::sum_depth(std::min<std::int64_t>(s.Tk, key_tile)) + tiles;
  out.rescales = moves ? tiles : 0;
  out.flush_to_zero = s.ftz ? 1 : 0;
  out.fixed_shift = fixed ? 1 : 0;
  return out;
}

/// What all of them share. `Kernel` gives `support`, fixed, moves, bytes(splash) and launch(splash, height, how).
template <class Kernel, class T>
struct Common {
  static constexpr DLDataType format = pack::type_of<T>;

  static Splash read(const nbx_problem& problem, bool with_data) {
    return read_splash(problem, Kernel::support(), with_data);
  }
  static void can_run(const nbx_problem& problem) { read(problem, false); }
  static nbx_arithmetic arithmetic(const nbx_problem& problem) {
    return attend_arithmetic(read(problem, false), format, Kernel::fixed, Kernel::moves);
  }
  static std::int64_t block_rows(const nbx_launch* how) {
    return pack::Options(how, {"block_rows"}).integer("block_rows", default_block_rows, 1, 32);
  }
  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch* how) {
    block_rows(how);
    return Kernel::bytes(read(problem, false));
  }
  static void check(const nbx_problem& problem, const nbx_launch* how) {
    const Splash s = read(problem, true);
    block_rows(how);
    if (how != nullptr) pack::require_workspace(*how, Kernel::bytes(s));
  }
  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const Splash s = read(problem, true);
    const std::int64_t height = block_rows(&how);
    Kernel::launch(s, height, how, pack::require_workspace(how, Kernel::bytes(s)));
  }

  static constexpr pack::List<nbx_axis, 1> axes{pack::axis("block_rows", "gate3.grid", block_row_values)};
  static constexpr pack::List<nbx_equality, 6> equalities{pack::promised("gate3.grid"),  pack::promised("gate3.rows"),
                                                          pack::promised("gate3.batch"), pack::promised("gate3.view"),
                                                          pack::promised("gate3.pad"),   pack::promised("gate3.twin")};
};

/// A running maximum throughout.
template <class T, class R = Rules>
struct OnlineKernel : Common<OnlineKernel<T, R>, T> {
  static constexpr const char* family = "splash_online";
  static constexpr bool fixed = false, moves = true;
  static Support support() { return {family, pack::type_of<T>, tile::device}; }
  static std::uint64_t bytes(const Splash&) { return 0; }
  static void launch(const Splash& s, std::int64_t height, const nbx_launch& how, std::byte*) {
    Splash whole = s;
    whole.block_q = std::max<std::int64_t>(1, s.Tq), whole.blocks = 1;
    attend<T, R>(attend_arguments<T, R>(whole, Way::online), s.ftz, height, how);
  }
};

/// Each query block by its flag.
template <class T, class R = Rules>
struct HybridKernel : Common<HybridKernel<T, R>, T> {
  static constexpr const char* family = "splash_hybrid";
  static constexpr bool fixed = true, moves = true;
  static Support support() { return {family, pack::type_of<T>, tile::device, Metadata::given}; }
  static std::uint64_t bytes(const Splash&) { return 0; }
  static void launch(const Splash& s, std::int64_t height, const nbx_launch& how, std::byte*) {
    attend<T, R>(attend_arguments<T, R>(s, Way::flagged), s.ftz, height, how);
  }
};

/// All blocks fixed: the caller has promised that they are eligible.
template <class T, class R = Rules>
struct UniformKernel : Common<UniformKernel<T, R>, T> {
  static constexpr const char* family = "splash_uniform";
  static constexpr bool fixed = true, moves = false;
  static Support support() {
    Support out{family, pack::type_of<T>, tile::device, Metadata::given};
    out.sums = out.uniform = true;
    return out;
  }
  static std::uint64_t bytes(const Splash&) { return 0; }
  static void launch(const Splash& s, std::int64_t height, const nbx_launch& how, std::byte*) {
    attend<T, R>(attend_arguments<T, R>(s, Way::pinned), s.ftz, height, how);
  }
};

/// mk, k_mean and norms.
template <class T, class R = Rules>
struct MetadataKernel : Common<MetadataKernel<T, R>, T> {
  static constexpr const char* family = "splash_metadata";
  static constexpr bool fixed = false, moves = false;
  static Support support() {
    Support out{family, pack::type_of<T>, tile::device, Metadata::made};
    out.attends = false;
    return out;
  }
  /// Of the mean: the keys' sum.
  static nbx_arithmetic arithmetic(const nbx_problem& problem) {
    const Splash s = MetadataKernel::read(problem, false);
    nbx_arithmetic out = attend_arithmetic(s, pack::type_of<T>, false, false);
    out.sum_depth = tile::sum_depth(s.Tk);
    return out;
  }
  static std::uint64_t bytes(const Splash& s) {
    Buffers buffers;
    const Scratch scratch(s, buffers);
    return buffers.bytes();
  }
  static void launch(const Splash& s, std::int64_t, const nbx_launch& how, std::byte* memory) {
    Buffers buffers;
    const Scratch scratch(s, buffers);
    make_metadata<T, R>(metadata_arguments<T, R>(s, scratch, memory), how);
  }
};

/// Metadata, then uniform where all blocks are eligible, else hybrid: both are launched, and a word of the device's
/// memory lets one of them run.
template <class T, class R = Rules>
struct DispatchKernel : Common<DispatchKernel<T, R>, T> {
  static constexpr const char* family = "splash_dispatch";
  static constexpr bool fixed = true, moves = true;
  static constexpr std::array<const char*, 2> optional_outputs{"mk_made", "k_mean_made"};
  static Support support() { return {family, pack::type_of<T>, tile::device, Metadata::made}; }
  static std::uint64_t bytes(const Splash& s) { return MetadataKernel<T, R>::bytes(s); }
  static void launch(const Splash& s, std::int64_t height, const nbx_launch& how, std::byte* memory) {
    Buffers buffers;
    const Scratch scratch(s, buffers);
    const MetadataArguments<T> metadata = metadata_arguments<T, R>(s, scratch, memory);
    make_metadata<T, R>(metadata, how);
    start("dispatch", AllEligible<T, R>{metadata}, how);
    for (const Way way : {Way::pinned, Way::flagged}) {
      AttendArguments<T> a = attend_arguments<T, R>(s, way);
      a.mk = metadata.mk, a.mk_at = metadata.mk_at;
      a.k_mean = metadata.mean, a.k_mean_at = {{s.Hk * s.D, s.D, 1}};
      a.guard = {metadata.all, way == Way::pinned ? 1.0F : 0.0F};
      attend<T, R>(a, s.ftz, height, how);
    }
  }
};

}  // namespace nbx::splash
