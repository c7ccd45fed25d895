// The problems of decode: those of attention with one query a sequence, and what decode has beside. Add one: a line
// here.
#pragma once

#include <vector>

#include "contracts/families/attention_problems.hpp"

namespace nbx::contracts {

enum class Lengths : std::uint8_t {
  none,   // no tensor: each sequence has all Tk keys
  full,   // all Tk, said
  mixed,  // Tk, half of it, 0, 1, 255, 256, 257, … and so on, at most Tk
  zero,   // no sequence has a key
};

/// Plants of decode's own.
enum class DecodePlant : std::uint8_t {
  none,
  taken_back,    // the lengths are mixed, and the second half of each sequence takes back the first, so that O is
                 // what rounding leaves: bits must not follow from the longest
  nan_splits,    // sequence b has a NaN key in its segment of 256 keys number b
  stale_tail,    // NaN in K, V where no length reaches
  masked_split,  // keys 256 to 511 have a bias of -inf, and NaN in K and V
};

struct DecodeProblem {
  AttentionProblem base;  // Tq = 1
  Lengths lengths = Lengths::none;
  bool q_round = false;  // q in f32, read in the caches' format
  DecodePlant plant = DecodePlant::none;
};

/// Of sequence b.
std::int64_t decode_length(const DecodeProblem& problem, std::int64_t b);
std::string decode_problem_name(const DecodeProblem& problem);
/// Power: the kinds that see, at a size class. One query a head.
void add_decode_power(std::vector<DecodeProblem>& list, std::int64_t keys, std::int64_t heads);

std::span<const DecodeProblem> decode_problems();

}  // namespace nbx::contracts
