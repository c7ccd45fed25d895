// Ziv's way: one element again, with more bits. Scores are exact at every level; weights are computed once a row and
// level, and kept while the same row is asked for.
#include <cmath>
#include <limits>

#include "oracle/attention_rows.hpp"
#include "oracle/exact_row.hpp"
#include "oracle/refined_row.hpp"

namespace nbx::oracle {
namespace {

/// No answer: decides nothing.
Refined nothing() { return {.value = std::nan(""), .radius = std::numeric_limits<double>::infinity()}; }

/// The last row that was asked for.
class RowCache {
 public:
  template <class Make>
  const ExactRow& row(std::int64_t index, const Make& make) {
    if (index != index_) {
      refined_.reset();
      row_ = std::make_unique<ExactRow>(make());
      index_ = index;
    }
    return *row_;
  }

  /// Of the row that row() gave last.
  const RefinedRow& refined(int bits) {
    if (!refined_ || bits_ != bits) {
      refined_ = refine_row(*row_, bits);
      bits_ = bits;
    }
    return *refined_;
  }

 private:
  std::int64_t index_ = -1;
  int bits_ = 0;
  std::unique_ptr<ExactRow> row_;
  std::unique_ptr<RefinedRow> refined_;
};

Refined refine_softmax(const SoftmaxInput& input, RowCache& cache, std::int64_t element, int bits) {
  const SoftmaxRow place = softmax_row(input, element);
  const ExactRow& row = cache.row(place.start, [&] { return exact_row(input, element); });
  if (!row.regular) return nothing();
  const std::int64_t key = (element - place.start) / place.step;
  const auto found = std::lower_bound(row.keys.begin(), row.keys.end(), key);
  if (found == row.keys.end() || *found != key) {  // -inf beside finite ones
    return input.log ? nothing() : Refined{.value = 0, .radius = 0, .low = 0, .low_radius = 0};
  }
  const auto at = static_cast<std::size_t>(found - row.keys.begin());
  if (const auto exact = input.log ? rational_log_weight(row) : rational_weight(row)) return *exact;
  return input.log ? cache.refined(bits).log_weight(at) : cache.refined(bits).weight(at);
}

Refined refine_output(const AttentionInput& input, RowCache& cache, const ExactRow& row, std::int64_t row_index,
                      std::int64_t column, int bits) {
  const AttentionSizes shape = sizes_of(input);
  const std::int64_t head = row_index / shape.Tq, b = head / shape.H, h = head % shape.H;
  const std::int64_t start = (b * shape.Hk + kv_head(shape, h)) * shape.Tk * shape.Dv + column;
  std::vector<double> values(row.keys.size());
  for (std::size_t place = 0; place < values.size(); ++place) {
    values[place] = input.v.at(start + row.keys[place] * shape.Dv);
    if (!std::isfinite(values[place])) return nothing();
  }
  if (const auto exact = rational_mean(row, values)) return *exact;
  return cache.refined(bits).mean(values);
}

}  // namespace

Refine refiner(const SoftmaxInput& input) {
  return [input, cache = std::make_shared<RowCache>()](std::size_t output, std::int64_t element, int bits) {
    return output == 0 ? refine_softmax(input, *cache, element, bits) : nothing();
  };
}

Refine refiner(const AttentionInput& input) {
  return [input, cache = std::make_shared<RowCache>()](std::size_t output, std::int64_t element, int bits) {
    const std::int64_t row_index = output == 0 ? element / sizes_of(input).Dv : element;
    const ExactRow& row = cache->row(row_index, [&] { return exact_row(input, row_index); });
    if (!row.regular) return nothing();
    if (output == 0) return refine_output(input, *cache, row, row_index, element % sizes_of(input).Dv, bits);
    if (output != 1) return nothing();
    const auto exact = rational_lse(row);
    return exact ? *exact : cache->refined(bits).lse();
  };
}

}  // namespace nbx::oracle
