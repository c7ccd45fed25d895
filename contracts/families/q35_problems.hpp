// The problems of rows-first attention. Add one: a line here.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "contracts/runner.hpp"

namespace nbx::contracts {

/// Which rows there are.
enum class Q35Rows : std::uint8_t {
  window,   // a verify window: row r of `rows` sees keys - rows + 1 + r keys of its stream
  streams,  // a window of each of four streams, with other lengths
  chain,    // a prompt: row r sees r + 1 keys
  edges,    // limits around the chunk rule: 0, 1, 127, 128, 129, … as far as `keys` goes
};

enum class Q35Kind : std::uint8_t {
  normal,
  negative,
  markers,
  rising,
  last_dims,
  clusters,
  cancelling,
  wide,
  anti,
  zero_query,
  balanced,  // scores near -20 that rise slowly, by the last component; values ± in turn, so that outputs are near 0
             // and every single key shows
};

enum class Q35Plant : std::uint8_t {
  none,
  nan_chunk,   // a NaN key in the second chunk of each stream
  stale_keys,  // NaN in K and V behind the largest limit of each stream
  nan_value,
};

struct Q35Problem {
  Q35Rows rows_kind = Q35Rows::window;
  std::int64_t rows = 16, keys = 300, H = 2, Hk = 1;
  Q35Kind kind = Q35Kind::normal;
  Q35Plant plant = Q35Plant::none;
  bool equality = false;
  Tier tier = Tier::standard;
  std::int64_t size_class = 0;
};

std::string q35_problem_name(const Q35Problem& problem);
const char* q35_kind_name(Q35Kind kind);
std::span<const Q35Problem> q35_problems();

}  // namespace nbx::contracts
