// The problems of paged append and paged decode. Add one: a line here.
#pragma once

#include <span>
#include <string>

#include "contracts/families/decode_problems.hpp"

namespace nbx::contracts {

enum class PagedPlant : std::uint8_t {
  none,
  taken_back,   // as decode's
  stale_pages,  // NaN behind each length, in pages that nobody uses, and table entries behind it that lead nowhere
  nan_pages,    // sequence b has a NaN key in its page number b
};

struct PagedProblem {
  AttentionProblem base;  // Tq = 1; Tk: the longest length
  std::int64_t page_tokens = 64;
  Lengths lengths = Lengths::full;
  bool shared = false;  // the first page of sequence 0 is the first page of all
  bool q_round = false;
  PagedPlant plant = PagedPlant::none;
};
std::int64_t paged_length(const PagedProblem& problem, std::int64_t b);
std::string paged_problem_name(const PagedProblem& problem);
std::span<const PagedProblem> paged_problems();

enum class AppendKind : std::uint8_t { normal, wide, saturating, special };

struct AppendProblem {
  std::int64_t tokens = 1, heads = 1, head_dim = 64, pages = 1, page_tokens = 64;
  std::int64_t skip = 0;  // every so manieth token has slot -1; 0: none
  bool from_f32 = false;  // else in the pool's format
  AppendKind kind = AppendKind::normal;
  bool equality = false;
  Tier tier = Tier::standard;
};
std::string append_problem_name(const AppendProblem& problem);
std::span<const AppendProblem> append_problems();

}  // namespace nbx::contracts
