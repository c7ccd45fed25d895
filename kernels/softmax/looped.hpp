// softmax.looped: rows of any length by tiles, with a running maximum and sum, then a second pass over the row.
#pragma once

#include "kernels/softmax/kernel.hpp"

namespace nbx::softmax {

inline constexpr int loop_features = 4096;  // features of one tile

template <class T, bool Log, class R>
struct LoopedProgram {
  Rows rows;

  std::size_t tile_bytes() const {
    return tile::tile_bytes<float>(1, loop_features) + 2 * tile::tile_bytes<float>(1, tile::reduce_chains);
  }
  std::int64_t blocks() const { return rows.rows; }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    if (rows.x_step == 1 && rows.y_step == 1) {
      compute(block, tile::UnitStep{}, tile::UnitStep{});
    } else {
      compute(block, tile::AnyStep{rows.x_step}, tile::AnyStep{rows.y_step});
    }
  }

 private:
  template <class Block, class XStep, class YStep>
  NBX_DEVICE void compute(Block& block, XStep x_at, YStep y_at) const {
    const auto tile = block.template tile<float>(1, loop_features);          // (1, features)
    const auto max_of = block.template tile<float>(1, tile::reduce_chains);  // (1, 1)
    const auto sum_of = block.template tile<float>(1, tile::reduce_chains);  // (1, 1)
    const Rows::Offsets at = rows.offsets(block.index());
    const T* const x = static_cast<const T*>(rows.x) + at.x;
    T* const y = static_cast<T*>(rows.y) + at.y;
    const auto whole = [](std::int64_t) { return 0; };

    // Every reader of max_of(0, 0) has passed a barrier of the sum's reduction before the next maximum is written
    // there, and so for sum_of.
    float max = R::Max::identity;
    float sum = 0.0F;
    for (std::int64_t first = 0; first < rows.features; first += loop_features) {
      const std::int64_t count = rows.features - first < loop_features ? rows.features - first : loop_features;
      tile::reduce_rows<typename R::Max>(block, max_of, 1, count, whole, [=](int, std::int64_t, std::int64_t c) {
        const float value = tile::decode(x[x_at(first + c)]);
        tile.at[c] = value;
        return value;
      });
      const float new_max = R::template running_max<typename R::Max>(max, max_of(0, 0));
      // While every feature so far is −inf there is nothing to sum: exp(−inf − 0) = 0.
      const float shift = new_max == R::Max::identity ? 0.0F : new_max;
      tile::reduce_rows<typename R::Sum>(block, sum_of, 1, count, whole, [=](int, std::int64_t, std::int64_t c) {
        return R::weight(tile.at[c], shift);
      });
      sum = sum * R::rescale(max, new_max) + sum_of(0, 0);
      max = new_max;
    }

    const float total = Log ? tile::log(sum) : sum;
    block.phase(rows.features, [=](std::int64_t c) {
      const float value = tile::decode(x[x_at(c)]);
      y[y_at(c)] =
          R::template narrow<T>(Log ? R::log_softmax(value, max, total) : R::softmax(R::weight(value, max), total));
    });
  }
};

/// The kernel softmax.looped or log_softmax.looped in format T. `Tile` is the tile kernel's name: a row of one tile has
/// its bits.
template <class T, bool Log, const char* Tile, class R = Rules>
struct LoopedKernel : Common<LoopedKernel<T, Log, Tile, R>, T, Log> {
  static void accept(const Rows&) {}
  static void options(const nbx_launch* how) { pack::Options(how, {}); }

  static void launch(const Rows& rows, const nbx_launch& how) {
    const LoopedProgram<T, Log, R> program{rows};
    pack::launched("softmax.looped", tile::launch(program, program.blocks(), how));
  }

  static std::int64_t sum_depth(std::int64_t features) {
    return tile::sum_depth(features < loop_features ? features : loop_features) + rescales(features);
  }
  static std::int64_t rescales(std::int64_t features) { return tile::ceil_div(features, loop_features) - 1; }

  static constexpr pack::List<nbx_equality, 4> equalities{pack::promised("gate3.rows"), pack::promised("gate3.view"),
                                                          pack::promised("gate3.twin"),
                                                          pack::promised("gate3.pair", Tile)};
};

}  // namespace nbx::softmax
