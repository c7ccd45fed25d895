// The tables of mutations, one a file. A new control is a row in one of them.
#pragma once

#include <span>

#include "controls/mutation.hpp"

namespace nbx::controls {

std::span<const Mutation> softmax_rules();      // composed: one rule of softmax replaced
std::span<const Mutation> math_rules();         // composed: one rule of math replaced
std::span<const Mutation> mask_rules();         // composed: masks, special values, causality
std::span<const Mutation> flash_rules();        // composed: one rule of flash replaced
std::span<const Mutation> matrix_rules();       // composed: flash on matrix units, and the units' roundings
std::span<const Mutation> split_rules();        // composed: flash in two parts, and their scales
std::span<const Mutation> scaled_rules();       // composed and around: flash on e4m3 with scales
std::span<const Mutation> routes();             // sdpa routed wrongly
std::span<const Mutation> splash_rules();       // composed and around: splash and its metadata
std::span<const Mutation> splash_ring_rules();  // composed and around: the ring of splash
std::span<const Mutation> calls();              // around: the honest kernel, asked for something else
std::span<const Mutation> memory();             // gate 2: what is written and read
std::span<const Mutation> launches();           // composed: races and grids
std::span<const Mutation> equalities();         // gate 3
std::span<const Mutation> refusals();           // gate 4
std::span<const Mutation> decode_rules();       // decode
std::span<const Mutation> paged_rules();        // paged append and paged decode
std::span<const Mutation> q35_rules();          // rows-first attention
std::span<const Mutation> harmless();           // changes that nothing can see, or that the bound allows

inline constexpr std::span<const Mutation> (*tables[])() = {
    softmax_rules, math_rules,        mask_rules,   flash_rules, matrix_rules, split_rules, scaled_rules,
    splash_rules,  splash_ring_rules, decode_rules, paged_rules, q35_rules,    routes,      calls,
    memory,        launches,          equalities,   refusals,    harmless};

}  // namespace nbx::controls
