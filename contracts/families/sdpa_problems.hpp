// The problems of sdpa: calls, and the route that the rules give each. Add one: a line here.
#pragma once

#include <string_view>

#include "contracts/families/attention_problems.hpp"

namespace nbx::contracts {

enum class KLayout : std::uint8_t { keys_first, unsaid, said, said_straight };  // unsaid, said: K is [B, Hk, D, Tk]

struct SdpaProfile {
  std::string_view name, json;
};

/// Two heads of 70 queries and 70 keys have 39,200 bytes of scores, and 560 bytes a row.
inline constexpr SdpaProfile sdpa_profiles[] = {
    {"none", ""},
    {"large", R"({"device": "large", "bytes": 1000000})"},
    {"small", R"({"bytes": 20000, "min_rows": 16, "max_chunks": 8})"},
    {"few_chunks", R"({"bytes": 20000, "min_rows": 16, "max_chunks": 2})"},
    {"few_rows", R"({"bytes": 20000, "min_rows": 36, "max_chunks": 8, "ceiling": 32})"},
    {"exact", R"({"bytes": 39200})"},
    {"short", R"({"bytes": 39199})"},
    {"half", R"({"bytes": 1000000, "fraction": 0.5, "memory_bytes": 78400})"},
    {"less_than_half", R"({"bytes": 1000000, "fraction": 0.5, "memory_bytes": 78398})"},
    {"unknown_device", R"({"bytes": 1000000, "fraction": 0.001})"},
    {"unit", R"({"bytes": 100, "ceiling": 32, "tiles": {"f16": [64], "bf16": [64]}})"},
};

struct SdpaProblem {
  AttentionProblem attention;
  std::string_view route;  // "chunked(32)"; "decode.vec/math": the first whose kernel there is
  std::string_view profile = "none";
  KLayout k = KLayout::keys_first;
  bool wide_q = false, wide_kv = false;  // in f32, narrowed by the call
  bool force_math = false;
  std::string_view decode_vec{};  // empty: not said
};

namespace sdpa_table {
using enum oracle::Causal;

inline constexpr AttentionProblem two_heads{.H = 2, .Tq = 70, .Tk = 70, .D = 64};
inline constexpr AttentionProblem one_query{.H = 4, .Hk = 2, .Tk = 70, .D = 64};

inline constexpr SdpaProblem problems[] = {
    // the bound: of a power of two nothing without a profile, of other head dims 2 GiB
    {.attention = {.H = 2, .Tq = 70, .Tk = 70, .D = 64, .equality = true, .tier = Tier::quick}, .route = "flash"},
    {.attention = {.H = 4, .Hk = 2, .Tq = 9, .Tk = 70, .D = 72, .equality = true}, .route = "math"},
    {.attention = two_heads, .route = "math", .profile = "large"},
    {.attention = two_heads, .route = "math", .profile = "exact"},
    {.attention = two_heads, .route = "flash", .profile = "short"},
    {.attention = two_heads, .route = "math", .profile = "half"},
    {.attention = two_heads, .route = "flash", .profile = "less_than_half"},
    {.attention = two_heads, .route = "math", .profile = "unknown_device"},
    {.attention = two_heads, .route = "unit flash/flash", .profile = "unit"},
    // chunks
    {.attention = {.H = 2, .Tq = 70, .Tk = 70, .D = 64, .causal = bottom_right, .equality = true, .tier = Tier::quick},
     .route = "chunked(32)",
     .profile = "small"},
    {.attention = {.H = 2, .Tq = 70, .Tk = 70, .D = 72, .bias = BiasShape::bhqk, .mask = Masking::holes},
     .route = "chunked(32)",
     .profile = "small"},
    {.attention = two_heads, .route = "flash", .profile = "few_chunks"},
    {.attention = two_heads, .route = "flash", .profile = "few_rows"},
    // Dv and D, force, one query
    {.attention = {.H = 2, .Tq = 12, .Tk = 70, .D = 64, .Dv = 32}, .route = "math"},
    {.attention = two_heads, .route = "math", .force_math = true},
    {.attention = one_query, .route = "decode.vec/math", .profile = "large"},
    {.attention = {.H = 4, .Hk = 2, .Tk = 70, .D = 64, .causal = top_left, .tier = Tier::quick},
     .route = "decode.vec/math",
     .profile = "large"},
    {.attention = one_query, .route = "math", .profile = "large", .decode_vec = "off"},
    {.attention = one_query, .route = "math", .profile = "large", .force_math = true, .decode_vec = "first"},
    {.attention = one_query, .route = "decode.vec/flash", .decode_vec = "first"},
    {.attention = one_query, .route = "flash", .decode_vec = "default"},
    // the layout of K: 64 keys of 64 dims do not tell
    {.attention = {.H = 2, .Hk = 2, .Tq = 5, .Tk = 63, .D = 64}, .route = "flash", .k = KLayout::unsaid},
    {.attention = {.H = 2, .Hk = 2, .Tq = 5, .Tk = 65, .D = 64}, .route = "flash", .k = KLayout::unsaid},
    {.attention = {.H = 2, .Hk = 2, .Tq = 5, .Tk = 64, .D = 64}, .route = "flash", .k = KLayout::said},
    {.attention = {.H = 2, .Hk = 2, .Tq = 5, .Tk = 64, .D = 64}, .route = "flash", .k = KLayout::said_straight},
    {.attention = {.H = 2, .Hk = 2, .Tq = 5, .Tk = 64, .D = 64},
     .route = "math",
     .profile = "large",
     .k = KLayout::said},
    // formats
    {.attention = {.H = 2, .Tq = 9, .Tk = 70, .D = 64, .equality = true}, .route = "flash", .wide_q = true},
    {.attention = {.H = 2, .Tq = 9, .Tk = 70, .D = 72}, .route = "math", .k = KLayout::unsaid, .wide_kv = true},
    // special values
    {.attention = {.H = 2, .Tq = 8, .Tk = 70, .D = 32, .plant = Plant::nan_key, .tier = Tier::quick}, .route = "flash"},
    {.attention = {.H = 2,
                   .Tq = 33,
                   .Tk = 33,
                   .D = 32,
                   .causal = bottom_right,
                   .plant = Plant::partly_hidden_nan,
                   .tier = Tier::quick},
     .route = "flash"},
};
}  // namespace sdpa_table

}  // namespace nbx::contracts
