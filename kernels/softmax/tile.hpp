// softmax.tile: whole rows in one tile.
#pragma once

#include <array>

#include "kernels/softmax/kernel.hpp"

namespace nbx::softmax {

inline constexpr std::int64_t tile_features = 4096;  // the longest row of a tile

template <class T, bool Log, class R>
struct TileProgram {
  Rows rows;
  int height;  // rows of a block

  std::size_t tile_bytes() const {
    return tile::tile_bytes<float>(height, static_cast<int>(rows.features)) +
           2 * tile::tile_bytes<float>(height, tile::reduce_chains);
  }
  std::int64_t blocks() const { return tile::ceil_div(rows.rows, height); }

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
    const std::int64_t first = block.index() * height;
    const std::int64_t count = rows.rows - first < height ? rows.rows - first : height;
    const auto x = block.template tile<float>(height, static_cast<int>(rows.features));  // (rows, features)
    const auto max = block.template tile<float>(height, tile::reduce_chains);            // (rows, 1)
    const auto sum = block.template tile<float>(height, tile::reduce_chains);            // (rows, 1)
    const auto& all = rows;

    const auto x_row = [&all, first](std::int64_t r) {
      return static_cast<const T*>(all.x) + all.offsets(first + r).x;
    };
    tile::reduce_rows<typename R::Max>(block, max, count, rows.features, x_row,
                                       [=](const T* from, std::int64_t r, std::int64_t c) {
                                         const float value = tile::decode(from[x_at(c)]);
                                         x.row(static_cast<int>(r))[c] = value;
                                         return value;
                                       });

    struct State {
      float* x;
      float max;
    };
    const auto state = [=](std::int64_t r) { return State{x.row(static_cast<int>(r)), max(static_cast<int>(r), 0)}; };
    tile::reduce_rows<typename R::Sum>(block, sum, count, rows.features, state,
                                       [=](const State& row, std::int64_t, std::int64_t c) {
                                         const float weight = R::weight(row.x[c], row.max);
                                         if constexpr (!Log) row.x[c] = weight;
                                         return weight;
                                       });

    struct Result {
      T* y;
      const float* x;
      float max, sum;  // Log: the logarithm of the sum
    };
    const auto result = [&all, x, max, sum, first](std::int64_t r) {
      const float total = sum(static_cast<int>(r), 0);
      return Result{static_cast<T*>(all.y) + all.offsets(first + r).y, x.row(static_cast<int>(r)),
                    max(static_cast<int>(r), 0), Log ? tile::log(total) : total};
    };
    block.phase_rows(count, rows.features, result, [=](const Result& row, std::int64_t, std::int64_t c) {
      row.y[y_at(c)] =
          R::template narrow<T>(Log ? R::log_softmax(row.x[c], row.max, row.sum) : R::softmax(row.x[c], row.sum));
    });
  }
};

/// The kernel softmax.tile or log_softmax.tile in format T.
template <class T, bool Log, class R = Rules>
struct TileKernel : Common<TileKernel<T, Log, R>, T, Log> {
  static void accept(const Rows& rows) {
    if (rows.features > tile_features) {
      pack::refuse(NBX_UNSUPPORTED, "x", std::to_string(rows.features) + " features along the axis",
                   "at most " + std::to_string(tile_features) + ", in one tile");
    }
  }

  static int options(const nbx_launch* how) {
    return static_cast<int>(pack::Options(how, {"block_rows"}).integer("block_rows", 1, 1, 64));
  }

  static void launch(const Rows& rows, const nbx_launch& how) {
    const int asked = options(&how);
    // Two full rows lie, with their chains, within the 48 KiB of shared memory that every device has.
    const auto most = static_cast<int>(2 * tile_features / (rows.features < 256 ? 256 : rows.features));
    const TileProgram<T, Log, R> program{rows, asked < most ? asked : most};
    pack::launched("softmax.tile", tile::launch(program, program.blocks(), how));
  }

  static std::int64_t sum_depth(std::int64_t features) { return tile::sum_depth(features); }
  static std::int64_t rescales(std::int64_t) { return 0; }

  static constexpr std::array<std::int64_t, 3> heights{1, 3, 8};
  static constexpr pack::List<nbx_axis, 1> axes{pack::axis("block_rows", "gate3.grid", heights)};
  static constexpr pack::List<nbx_equality, 4> equalities{pack::promised("gate3.grid"), pack::promised("gate3.rows"),
                                                          pack::promised("gate3.view"), pack::promised("gate3.twin")};
};

}  // namespace nbx::softmax
