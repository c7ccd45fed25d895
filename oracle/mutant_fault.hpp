// What a mutant of attention does otherwise, and where.
#pragma once

#include <optional>

#include "oracle/attention_rows.hpp"
#include "oracle/mutant.hpp"
#include "oracle/mutant_draw.hpp"

namespace nbx::oracle {

/// How one mutant differs from the definition.
struct Fault {
  Mutant mutant;
  double scale;                                   // what the kernel multiplies scores by
  std::int64_t head_dim;                          // how many columns of q and k it uses
  std::int64_t tile;                              // keys of a tile
  std::int64_t hidden_begin = 0, hidden_end = 0;  // keys that it leaves out
  std::int64_t split = 1;                         // keys of a split, of unweighted_split_merge
  std::int64_t first = 0, second = 0;  // tiles that are swapped; the stale V row and the row whose values it holds;
                                       // the query head and the KV head that it takes
  std::int64_t zero_row = -1;
};

/// Where the fault lies, or nothing where it would change nothing by its nature.
std::optional<Fault> plan(const AttentionInput& input, Mutant mutant, Draw draw);

}  // namespace nbx::oracle
