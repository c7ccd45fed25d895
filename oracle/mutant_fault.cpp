#include "oracle/mutant_fault.hpp"

#include <algorithm>
#include <limits>

namespace nbx::oracle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Which keys at least one row sees and no bias of -inf takes out of all rows.
std::vector<bool> seen_keys(const AttentionInput& input, const AttentionSizes& shape) {
  std::vector<bool> seen(shape.Tk, false);
  for (std::int64_t b = 0; b < shape.B; ++b) {
    if (!input.bias.has_value()) {
      std::int64_t most = 0;  // rows see prefixes
      for (std::int64_t i = 0; i < shape.Tq; ++i) most = std::max(most, visible_keys(input, b, i));
      std::fill(seen.begin(), seen.begin() + most, true);
      continue;
    }
    for (std::int64_t h = 0; h < shape.H; ++h) {
      for (std::int64_t i = 0; i < shape.Tq; ++i) {
        const BiasRow bias = bias_row(*input.bias, b, h, i);
        const std::int64_t visible = visible_keys(input, b, i);
        for (std::int64_t j = 0; j < visible; ++j) {
          if (!seen[j]) seen[j] = input.bias->at(bias.start + j * bias.step) != -infinity;
        }
      }
    }
  }
  return seen;
}

/// Rows that count at least one key by position and bias.
std::vector<std::int64_t> seeing_rows(const AttentionInput& input, const AttentionSizes& shape) {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    const std::int64_t i = row % shape.Tq, h = row / shape.Tq % shape.H, b = row / shape.Tq / shape.H;
    const std::int64_t visible = visible_keys(input, b, i);
    if (visible == 0) continue;
    bool counts = !input.bias.has_value();
    if (!counts) {
      const BiasRow bias = bias_row(*input.bias, b, h, i);
      for (std::int64_t j = 0; j < visible && !counts; ++j) {
        counts = input.bias->at(bias.start + j * bias.step) != -infinity;
      }
    }
    if (counts) rows.push_back(row);
  }
  return rows;
}

}  // namespace

std::optional<Fault> plan(const AttentionInput& input, Mutant mutant, Draw draw) {
  const AttentionSizes shape = sizes_of(input);
  const double scale = scale_of(input) * (input.base_two ? 0x1.62e42fefa39efp-1 : 1);
  Fault fault{.mutant = mutant, .scale = scale, .head_dim = shape.D, .tile = tile_width(shape.Tk)};
  const std::vector<bool> seen = seen_keys(input, shape);
  const std::vector<std::int64_t> keys = places(seen);
  const std::vector<std::int64_t> tiles = places(seen_tiles(seen, fault.tile));
  if (keys.empty()) return std::nullopt;
  switch (mutant) {
    case Mutant::drop_last_key:  // per batch entry, see hide()
    case Mutant::extra_zero_key:
    case Mutant::lse_without_max:
      return fault;
    case Mutant::ignore_query_and_key:
      return keys.size() > 1 ? std::optional(fault) : std::nullopt;
    case Mutant::drop_tile:
      if (tiles.size() < 2) return std::nullopt;
      fault.hidden_begin = draw.from(tiles) * fault.tile;
      fault.hidden_end = fault.hidden_begin + fault.tile;
      return fault;
    case Mutant::scale_missing:
      fault.scale = 1;
      return scale != 1 ? std::optional(fault) : std::nullopt;
    case Mutant::scale_twice:
      fault.scale = scale * scale;
      return fault.scale != scale ? std::optional(fault) : std::nullopt;
    case Mutant::half_head_dim:
      fault.head_dim = shape.D / 2;
      return shape.D > 1 ? std::optional(fault) : std::nullopt;
    case Mutant::no_rescale:
      return tiles.size() > 1 ? std::optional(fault) : std::nullopt;
    case Mutant::unweighted_split_merge: {
      if (tiles.size() < 2) return std::nullopt;
      const std::int64_t used = tiles.back() + 1, splits = draw.between(2, std::min<std::int64_t>(8, used));
      fault.split = (used + splits - 1) / splits * fault.tile;
      return fault;
    }
    case Mutant::swapped_key_tiles:
      if (tiles.size() < 2) return std::nullopt;
      fault.first = draw.from(tiles);
      fault.second = draw.from(without(tiles, fault.first));
      return fault;
    case Mutant::stale_value_row: {
      if (keys.size() < 2) return std::nullopt;
      const std::int64_t at = draw.between(0, static_cast<std::int64_t>(keys.size()) - 1);
      fault.first = keys[at];
      // What the same slot of the tile buffer held before, or a neighbour in the first tile.
      fault.second = keys[at >= fault.tile ? at - fault.tile : at > 0 ? at - 1 : 1];
      return fault;
    }
    case Mutant::wrong_gqa_head:
      if (shape.Hk < 2) return std::nullopt;
      fault.first = draw.between(0, shape.H - 1);
      fault.second = (kv_head(shape, fault.first) + draw.between(1, shape.Hk - 1)) % shape.Hk;
      return fault;
    case Mutant::zero_row: {
      const std::vector<std::int64_t> rows = seeing_rows(input, shape);
      fault.zero_row = draw.from(rows);
      return fault;
    }
  }
  return std::nullopt;
}

}  // namespace nbx::oracle
