// Rows-first attention: rows that each see a prefix of their stream's cache, as a whole and by chunks of keys.
#pragma once

#include <vector>

#include "oracle/mutant.hpp"
#include "oracle/reference.hpp"

namespace nbx::oracle {

/// q [rows, H, D]; k and v [streams, Hk, capacity, D]; row r sees keys 0 … limit[r] - 1 of stream[r]. A scale per KV
/// head multiplies k, and one v, exactly; empty: 1. Scores are multiplied by fp32(1/sqrt(D)).
/// Chunks of row r: width[r] keys each, `chunks` of them whether it has keys there or not.
struct RowsFirstInput {
  View q, k, v;
  std::vector<float> k_scale, v_scale;
  std::vector<std::int64_t> stream, limit, width;
  std::int64_t chunks = 0;
};

/// Outputs: o [rows, H, D]; of each chunk its largest score pm, the sum pl of exp(s - pm) [rows, H, chunks], and the
/// sum po of exp(s - pm) · v [rows, H, chunks, D]. Without a key: -inf, 0, +0.
///
/// A kernel's pm is the largest of its computed scores, m' = pm + e with |e| <= the largest score error B, and its pl
/// and po are relative to it: |pl' - pl| <= pl · (e^B (1 + E) - 1), E the error of the sum but for the common factor,
/// and |po' - po| <= e^B · (error of P·V) + (e^B - 1) |po|.
///
/// Throws where k_scale times the scale, or v_scale times a value, is not an fp32 number.
Evaluation evaluate(const RowsFirstInput& input, std::span<const Arithmetic> arithmetics);

Refine refiner(const RowsFirstInput& input);
/// Of o; partials have none.
BoundParts bound_parts(const RowsFirstInput& input, const Arithmetic& arithmetic, std::size_t output,
                       std::int64_t element);
/// Mutants of o; the partials' vectors are empty.
std::vector<std::vector<double>> mutate(const RowsFirstInput& input, Mutant mutant, std::uint64_t position);
/// Scores of row r and query head h.
std::vector<double> scores_of_row(const RowsFirstInput& input, std::int64_t row, std::int64_t head);

}  // namespace nbx::oracle
