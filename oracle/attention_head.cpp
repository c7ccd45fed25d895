#include "oracle/attention_head.hpp"

#include <algorithm>
#include <cmath>

namespace nbx::oracle {
namespace {

// Worst cases below this leave room for every rounding before fp32 overflows at 2^128.
constexpr double kClearlyFinite = 0x1p120;

OperandRange range_of(const View& view, std::int64_t first, std::int64_t count) {
  OperandRange range;
  std::vector<double> chunk(std::min<std::int64_t>(count, 4096));
  for (std::int64_t done = 0; done < count; done += static_cast<std::int64_t>(chunk.size())) {
    const std::int64_t size = std::min<std::int64_t>(count - done, static_cast<std::int64_t>(chunk.size()));
    view.read(first + done, {chunk.data(), static_cast<std::size_t>(size)});
    for (std::int64_t i = 0; i < size; ++i) {
      const double magnitude = std::fabs(chunk[i]);
      if (!(magnitude > 0) || std::isinf(magnitude)) continue;
      range.largest = std::fmax(range.largest, magnitude);
      range.smallest = range.smallest == 0 ? magnitude : std::fmin(range.smallest, magnitude);
    }
  }
  return range;
}

}  // namespace

AttentionHead::AttentionHead(const AttentionShape& of, std::int64_t batch, std::int64_t head,
                             std::span<const Arithmetic> arithmetics)
    : shape(of), b(batch), kv_head(head), keys(of.visible(batch)) {
  const AttentionInput& input = *shape.input;
  const std::int64_t first_key = (b * shape.Hk + kv_head) * shape.Tk;
  key = load(input.k, first_key, keys, shape.D);
  value = load(input.v, first_key, keys, shape.Dv);
  query = range_of(input.q, first_row() * shape.D, rows() * shape.D);
  special_values = value.special_rows;

  for (const Arithmetic& arithmetic : arithmetics) {
    models.push_back(error_model(arithmetic, shape, query, key.range, value.range));
  }
  const std::vector<double> flat(shape.D, 1.0);
  models.insert(models.begin(), reference_model(shape, models.empty() ? flat : models.front().profile));
  for (const ErrorModel& model : models) {
    const auto found = std::ranges::find(profiles, model.profile);
    profile_of.push_back(static_cast<std::size_t>(found - profiles.begin()));
    if (found == profiles.end()) profiles.push_back(model.profile);
  }

  const double product = query.largest * key.range.largest * static_cast<double>(shape.D);
  scores_may_overflow = !(product * std::fmax(1.0, std::fabs(shape.scale)) < kClearlyFinite);
  sums_may_overflow = !(value.range.largest * static_cast<double>(keys + 1) < kClearlyFinite);
}

}  // namespace nbx::oracle
