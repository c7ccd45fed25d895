// Selecting by name: kernels, clauses, cases and controls, and the names nearest to one that matched nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nbx::contracts {

/// '*' any text, '?' any one character; all else literal.
bool glob(std::string_view pattern, std::string_view text);

/// A dotted name by glob, or by its first parts: "softmax" and "gate3" select "softmax.tile.f32" and "gate3.grid".
bool selects(std::string_view pattern, std::string_view name);

/// A case (kernel, clause, problem): a pattern with '/' or '(' speaks of its whole name, any other of the kernel or of
/// the clause. No patterns select all.
bool selects_case(const std::vector<std::string>& patterns, std::string_view kernel, std::string_view clause,
                  std::string_view problem);

/// The names nearest to `pattern` by edit distance, at most `most`, best first.
std::vector<std::string> nearest_names(std::string_view pattern, std::vector<std::string> names, std::size_t most = 5);

}  // namespace nbx::contracts
