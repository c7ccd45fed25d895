// flash as kernels of the pack: flash.simt, and flash.published as the described system shipped it.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/flash/program.hpp"
#include "kernels/math/operands.hpp"
#include "kernels/pack/entries.hpp"

namespace nbx::flash {

/// Options of a launch: `block_rows` fixes the height of a tile of queries, `ceiling` is what the device's profile
/// allows it, `detour` pads the head dim by one column of zeros.
struct Options {
  int block_rows, ceiling, detour;

  explicit Options(const nbx_launch* how) {
    const pack::Options given{how, {"block_rows", "ceiling", "detour"}};
    block_rows = static_cast<int>(given.integer("block_rows", 0, height_floor, height_most));
    ceiling = static_cast<int>(given.integer("ceiling", 0, 1, 1 << 20));
    detour = static_cast<int>(given.integer("detour", 0, 0, 1));
  }
};

/// The height of a tile of queries for this problem and launch, and why; refuses where no tile fits.
template <class P>
HeightChoice choose(const pack::Attention& a, const Options& how) {
  HeightLimits limits{how.ceiling, how.block_rows, {}};
  pack::launched("shared memory", tile::block_limits<P>(limits.block));
  const std::int64_t most = std::int64_t{1} << 30;  // far past what fits, and its bytes can still be counted
  const HeightChoice choice = choose_height(a.D, a.Tq, limits, [&](int height) -> std::uint64_t {
    return P::tile_bytes(std::min(a.D, most), std::min(a.Dv, most), height, key_width(a.D), how.detour);
  });
  if (choice.height == 0) {
    pack::refuse(NBX_UNSUPPORTED, how.block_rows != 0 ? "block_rows" : "q",
                 (how.block_rows != 0 ? pack::text(std::int64_t{how.block_rows})
                                      : "head dims " + pack::text(a.D) + " and " + pack::text(a.Dv)) +
                     ", whose tiles take " + std::to_string(choice.bytes) + " bytes of shared memory",
                 "what takes at most " + std::to_string(limits.block.most_bytes));
  }
  return choice;
}

/// The base of a kernel in format T. `Program` is instantiated with the rules R.
template <class T, class R, template <class, class> class P = Program>
struct Common {
  static constexpr const char* family = R::scaled ? "attention_scaled" : "attention";
  static constexpr DLDataType format = pack::type_of<T>;

  static pack::Attention read(const nbx_problem& problem, bool with_data) {
    return pack::read_attention(
        problem, {.format = format, .device = tile::device, .lse = R::gives_lse, .scaled = R::scaled}, with_data);
  }

  static void can_run(const nbx_problem& problem) { choose<P<T, R>>(read(problem, false), Options(nullptr)); }

  static nbx_arithmetic arithmetic(const nbx_problem& problem) {
    const pack::Attention a = read(problem, false);
    nbx_arithmetic out = pack::tile_arithmetic();
    out.masked_value = R::masked_value;
    R::declare(out, a.Tk, R::key_width(a));
    return out;
  }

  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch* how) {
    read(problem, false);
    const Options options(how);
    return 0;
  }

  static void check(const nbx_problem& problem, const nbx_launch* how) {
    choose<P<T, R>>(read(problem, true), Options(how));
  }

  /// The program for this problem and launch.
  static P<T, R> program_of(const pack::Attention& a, const Options& options) {
    P<T, R> program{};
    math::take_operands<R, T>(a, program.a);
    R::take_scales(a, program.a);
    program.height = choose<P<T, R>>(a, options).height;
    program.a.scale = R::scale(a, options.detour);
    program.width = R::key_width(a);
    program.extra = options.detour;
    program.query_scale = a.scale;
    return program;
  }

  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const P<T, R> program = program_of(read(problem, true), Options(&how));
    pack::launched("flash", tile::launch(program, program.blocks(), how));
  }

  static std::string explain(const nbx_problem& problem, const nbx_launch* how) {
    const pack::Attention a = read(problem, false);
    return "tiles of " + std::to_string(R::key_width(a)) + " keys; height " + choose<P<T, R>>(a, Options(how)).reason;
  }

  static constexpr std::array<const char*, 1> optional_outputs{"lse"};
};

/// flash.simt in format T. `Name` is its own name, which it equals on expanded K and V, and on a padded head dim.
template <class T, const char* Name, class R = Rules, template <class, class> class P = Program>
struct SimtKernel : Common<T, R, P> {
  static constexpr std::array<std::int64_t, 4> heights{16, 32, 64, 128};  // all that a choice or a profile can return
  static constexpr std::array<std::int64_t, 1> detours{1};
  static constexpr pack::List<nbx_axis, 2> axes{pack::axis("block_rows", "gate3.grid", heights),
                                                pack::axis("detour", "gate3.pair", detours)};
  static constexpr pack::List<nbx_equality, 7> equalities{
      pack::promised("gate3.grid"),      pack::promised("gate3.rows"), pack::promised("gate3.batch"),
      pack::promised("gate3.view"),      pack::promised("gate3.pad"),  pack::promised("gate3.twin"),
      pack::promised("gate3.pair", Name)};
};

/// flash.published in format T: the program of flash.simt, whose tiles are varied there, with another last step.
template <class T, const char* Name>
struct PublishedKernel : Common<T, PublishedRules> {
  static constexpr std::array<std::int64_t, 1> heights{16};
  static constexpr pack::List<nbx_axis, 1> axes{pack::axis("block_rows", "gate3.grid", heights)};
  static constexpr pack::List<nbx_equality, 7> equalities{
      pack::promised("gate3.grid"),
      pack::promised("gate3.rows"),
      pack::promised("gate3.batch"),
      pack::promised("gate3.view"),
      pack::not_promised("gate3.pad", "a row that is NaN without a mask is 0 with one"),
      pack::promised("gate3.twin"),
      pack::promised("gate3.pair", Name)};
};

}  // namespace nbx::flash
