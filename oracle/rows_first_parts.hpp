// Rows of one stream against one KV head, and their partials over a range of keys.
#pragma once

#include <cstddef>
#include <vector>

#include "oracle/mutant.hpp"
#include "oracle/rows_first.hpp"

namespace nbx::oracle {

/// Query rows `rows` of the stream with all heads of one KV head's group, and the keys [first, first + keys). Keeps the
/// bytes that its attention problem looks at: q [1, group, rows, D], k [1, 1, keys, D], v likewise, in f32 where it has
/// a scale.
class RowsOfHead {
 public:
  RowsOfHead(const RowsFirstInput& input, std::int64_t stream, std::int64_t kv_head, std::vector<std::int64_t> rows,
             std::int64_t first, std::int64_t keys);

  std::int64_t count() const { return group_ * static_cast<std::int64_t>(rows_.size()); }
  /// Row i of count(): its place in [rows, H] of the input.
  std::int64_t place(std::int64_t i) const;
  const std::vector<std::int64_t>& rows() const { return rows_; }
  std::int64_t stream() const { return stream_; }
  std::int64_t kv_head() const { return kv_head_; }
  AttentionInput attention() const;

 private:
  const RowsFirstInput* input_;
  std::int64_t stream_, kv_head_, group_, first_, keys_;
  std::vector<std::int64_t> rows_, lengths_;
  std::vector<std::byte> q_, scaled_v_;
};

/// pm, pl and po (outputs 1 to 3 of `out`) of all chunks of the part's rows.
void write_partials(const RowsFirstInput& input, const RowsOfHead& part, std::span<const Arithmetic> arithmetics,
                    Evaluation& out);

/// One element of a partial again, with at least `bits` of precision. Only for chunks of finite scores and values.
Refined refine_partial(const RowsFirstInput& input, std::size_t output, std::int64_t element, int bits);

}  // namespace nbx::oracle
