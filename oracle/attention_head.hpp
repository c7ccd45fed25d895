// One KV head of one batch entry and the query rows that read it: contiguous in q, head by head.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/attention_shape.hpp"
#include "oracle/error_model.hpp"
#include "oracle/operand.hpp"

namespace nbx::oracle {

struct AttentionHead {
  const AttentionShape& shape;
  std::int64_t b, kv_head;
  std::int64_t keys;   // that any row sees
  Operand key, value;  // (keys, D), (keys, Dv)
  OperandRange query;
  std::vector<ErrorModel> models;                               // the double evaluation, then one per arithmetic
  std::vector<std::vector<double>> profiles;                    // distinct ones
  std::vector<std::size_t> profile_of;                          // per model
  std::vector<std::int64_t> special_values;                     // keys whose value is not finite somewhere, rising
  bool scores_may_overflow = false, sums_may_overflow = false;  // fp32's range, worst case over all rows

  AttentionHead(const AttentionShape& shape, std::int64_t b, std::int64_t kv_head,
                std::span<const Arithmetic> arithmetics);

  /// Of the group · Tq query rows: row r is query head head_of(r), row r % Tq of it.
  std::int64_t rows() const { return shape.group * shape.Tq; }
  std::int64_t head_of(std::int64_t r) const { return kv_head * shape.group + r / shape.Tq; }
  std::int64_t first_row() const { return (b * shape.H + kv_head * shape.group) * shape.Tq; }
};

}  // namespace nbx::oracle
