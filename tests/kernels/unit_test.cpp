// The models of matrix units against what an H200 returned: every element of the vector files and every measured
// corner, bit for bit (a NaN counts as a NaN), and that the files would tell a model with another rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <sstream>

#include "kernels/unit/product.hpp"
#include "tests/kernels/unit_vectors.hpp"

namespace nbx::testing {
namespace {

using unit::architecture;
using unit::Group;

bool same(float x, float y) { return tile::bits_of(x) == tile::bits_of(y) || (tile::is_nan(x) && tile::is_nan(y)); }

/// B of tile `t` as [K][N].
std::vector<float> transposed(const UnitVectors& v, int t) {
  std::vector<float> out(static_cast<std::size_t>(v.K * v.N));
  for (int j = 0; j < v.N; ++j) {
    for (int k = 0; k < v.K; ++k) out[k * v.N + j] = v.b[(static_cast<std::size_t>(t) * v.N + j) * v.K + k];
  }
  return out;
}

template <class Multiply>
int differing(const UnitVectors& v, const Multiply& multiply) {
  int wrong = 0;
  for (int t = 0; t < v.tiles; ++t) {
    const std::vector<float> b = transposed(v, t);
    const std::size_t first = static_cast<std::size_t>(t) * v.M * v.N;
    std::vector<float> c(v.c.begin() + first, v.c.begin() + first + v.M * v.N);
    multiply(unit::Matrices{&v.a[static_cast<std::size_t>(t) * v.M * v.K], b.data(), c.data(), v.K, v.N, v.N, v.M, v.N,
                            v.K});
    for (int i = 0; i < v.M * v.N; ++i) wrong += !same(c[i], v.d[first + i]);
  }
  return wrong;
}

template <class Unit, class T>
void expect_all(const char* file) {
  const UnitVectors v = read_unit_vectors<T>(file);
  const Group group = Unit::known(*architecture("sm_90")).group;
  ASSERT_GE(v.tiles, 512);
  EXPECT_EQ(differing(v, [&](const unit::Matrices& m) { unit::multiply(m, group, Unit{}); }), 0);
  EXPECT_EQ(differing(v,
                      [&](const unit::Matrices& m) {
                        for (int i = 0; i < m.rows * m.columns; ++i) {
                          const int j = i % m.columns;
                          m.c[i] = unit::detail::chain_element<Unit>(group, m.a + i / m.columns * m.a_stride, m.b + j,
                                                                     m.b_stride, m.depth, m.c[i]);
                        }
                      }),
            0);
}

TEST(UnitVectors, F16) { expect_all<unit::M16N8K16F16, tile::f16>("mma_sm90_f16.bin"); }
TEST(UnitVectors, BF16) { expect_all<unit::M16N8K16BF16, tile::bf16>("mma_sm90_bf16.bin"); }
TEST(UnitVectors, TF32) { expect_all<unit::M16N8K8TF32, float>("mma_sm90_tf32.bin"); }
TEST(UnitVectors, E4M3) { expect_all<unit::M16N8K32E4M3, tile::e4m3>("mma_sm90_e4m3.bin"); }

TEST(UnitVectors, M8N8K4) {
  const UnitVectors v = read_unit_vectors<tile::f16>("mma_sm90_m8n8k4.bin");
  EXPECT_EQ(differing(v, [](const unit::Matrices& m) { unit::multiply(m, unit::M8N8K4F16{}); }), 0);
}

/// Patterns after `name`, up to the next word that is no number but a name; at least one.
template <class T>
std::vector<float> numbers_after(std::istringstream& words, const std::string& name) {
  std::string word;
  if (!(words >> word) || word != name) throw std::runtime_error("'" + word + "' where '" + name + "' is expected");
  constexpr std::size_t digits = 2 * sizeof(T);
  std::vector<float> out;
  for (auto at = words.tellg(); words >> word; at = words.tellg()) {
    if (word.size() != digits) {
      words.seekg(at);
      break;
    }
    const auto bits = static_cast<std::uint32_t>(std::stoul(word, nullptr, 16));
    if constexpr (std::is_same_v<T, float>) {
      out.push_back(tile::float_of(bits));
    } else {
      out.push_back(tile::decode(T{static_cast<typename T::Bits>(bits)}));
    }
  }
  if (out.empty()) throw std::runtime_error("no numbers after " + name);
  return out;
}

/// What the model of sm_90 gives for the line, one instruction or a chain.
template <class Unit, class T>
float of_line(std::istringstream& words, float& expected) {
  const std::vector<float> a = numbers_after<T>(words, "a"), b = numbers_after<T>(words, "b");
  float c = numbers_after<float>(words, "c")[0];
  expected = numbers_after<float>(words, "d")[0];
  const auto depth = static_cast<int>(a.size());
  if (b.size() != a.size() || depth % Unit::k != 0) throw std::runtime_error("a and b are no whole instructions");
  const unit::Matrices one{a.data(), b.data(), &c, depth, 1, 1, 1, 1, depth};
  if constexpr (requires { Unit::format; }) {
    unit::multiply(one, Unit::known(*architecture("sm_90")).group, Unit{});
  } else {
    unit::multiply(one, Unit{});
  }
  return c;
}

struct LineModel {
  const char* kernel;
  float (*of)(std::istringstream& words, float& expected);
};
constexpr LineModel line_models[] = {{"m16n8k16.mma.f16", of_line<unit::M16N8K16F16, tile::f16>},
                                     {"m16n8k16.mma.bf16", of_line<unit::M16N8K16BF16, tile::bf16>},
                                     {"m16n8k8.mma.tf32", of_line<unit::M16N8K8TF32, float>},
                                     {"m16n8k32.mma.e4m3", of_line<unit::M16N8K32E4M3, tile::e4m3>},
                                     {"m8n8k4.mma.f16", of_line<unit::M8N8K4F16, tile::f16>},
                                     {"m64n8k16.wgmma.f16", of_line<unit::WgmmaF16, tile::f16>},
                                     {"m64n8k16.wgmma.bf16", of_line<unit::WgmmaBF16, tile::bf16>},
                                     {"m64n8k8.wgmma.tf32", of_line<unit::WgmmaTF32, float>},
                                     {"m64n8k32.wgmma.e4m3", of_line<unit::WgmmaE4M3, tile::e4m3>}};

// Lines that `nbx-contract probe` printed, each once a deviation from the model of its time.
TEST(UnitVectors, Lines) {
  std::istringstream lines(file_bytes("lines.txt"));
  int held = 0;
  for (std::string line; std::getline(lines, line); ++held) {
    std::istringstream words(line);
    std::string kernel, of;
    words >> kernel >> of;
    ASSERT_EQ(of, "sm_90") << line;
    const auto model = std::find_if(std::begin(line_models), std::end(line_models),
                                    [&](const LineModel& one) { return one.kernel == kernel; });
    ASSERT_NE(model, std::end(line_models)) << "no model of " << kernel;
    float expected = 0;
    const float got = model->of(words, expected);
    EXPECT_TRUE(same(got, expected)) << line << "\n got " << got;
  }
  EXPECT_GT(held, 0);
}

/// How many elements of a library's product, for K = 32 … 256, with fast accumulation and without, are not the model's.
/// A and B [64][256] e4m3; o_K_fast [64][64]. With fast accumulation one chain; without, every 128 terms are a chain of
/// their own that is added in fp32.
int differing_from_gemm(const Group& group) {
  const std::string bytes = file_bytes("wgmma_sm90_e4m3_gemm.safetensors");
  std::uint64_t length;
  std::memcpy(&length, bytes.data(), sizeof length);
  const auto head = nlohmann::json::parse(bytes.substr(8, length));
  const auto tensor = [&](const std::string& name) {
    return bytes.data() + 8 + length + head.at(name).at("data_offsets").at(0).get<std::size_t>();
  };
  const char* of_a = tensor("A");
  const char* of_b = tensor("B");
  const std::vector<float> a = decoded<tile::e4m3>(of_a, 64 * 256), b_rows = decoded<tile::e4m3>(of_b, 64 * 256);
  std::vector<float> b(256 * 64);
  for (int i = 0; i < 64 * 256; ++i) b[i % 256 * 64 + i / 256] = b_rows[i];
  int wrong = 0;
  for (const int K : {32, 64, 128, 256}) {
    for (const bool fast : {false, true}) {
      std::vector<float> sum(64 * 64, 0.0F);
      const int stretch = fast ? K : 128;
      for (int first = 0; first < K; first += stretch) {
        std::vector<float> part(64 * 64, 0.0F);
        unit::multiply(unit::Matrices{a.data() + first, b.data() + first * 64, part.data(), 256, 64, 64, 64, 64,
                                      std::min(stretch, K - first)},
                       group, unit::WgmmaE4M3{});
        for (int i = 0; i < 64 * 64; ++i) sum[i] += part[i];
      }
      const char* of_o = tensor("o_" + std::to_string(K) + (fast ? "_1" : "_0"));
      const std::vector<float> o = decoded<float>(of_o, 64 * 64);
      for (int i = 0; i < 64 * 64; ++i) wrong += !same(sum[i], o[i]);
    }
  }
  return wrong;
}

TEST(UnitVectors, WgmmaE4M3) {
  EXPECT_EQ(differing_from_gemm(architecture("sm_90")->wgmma_e4m3.group), 0);
  for (const Group& wrong : {Group{16, 13, -133, 14}, Group{32, 12, -133, 14}, Group{32, 14, -133, 14},
                             Group{32, 13, -133, 13}, Group{32, 13, -133, 24}}) {
    EXPECT_GT(differing_from_gemm(wrong), 0) << wrong.length << " " << wrong.kept_bits << " " << wrong.result_bits;
  }
}

// Other roundings are told by the files.
TEST(UnitVectors, TellOtherModels) {
  const UnitVectors f16 = read_unit_vectors<tile::f16>("mma_sm90_f16.bin");
  const UnitVectors bf16 = read_unit_vectors<tile::bf16>("mma_sm90_bf16.bin");
  for (const Group& wrong : {Group{16, 24, -133}, Group{8, 25, -133}, Group{16, 26, -133}, Group{16, 25, -133, 23}}) {
    EXPECT_GT(differing(f16,
                        [&](const unit::Matrices& m) {
                          if (wrong.kept_bits <= 25) return unit::multiply(m, wrong, unit::M16N8K16F16{});
                          for (int i = 0; i < m.rows * m.columns; ++i) {  // 26 places do not fit the lanes
                            m.c[i] = unit::detail::chain_element<unit::M16N8K16F16>(
                                wrong, m.a + i / m.columns * m.a_stride, m.b + i % m.columns, m.b_stride, m.depth,
                                m.c[i]);
                          }
                        }),
              0)
        << wrong.length << " " << wrong.kept_bits << " " << wrong.result_bits;
  }
  const auto nearest = [](const unit::Matrices& m) {
    const Group group = architecture("sm_90")->f16.group;
    for (int i = 0; i < m.rows * m.columns; ++i) {
      float x[16], y[16];
      for (int k = 0; k < 16; ++k) {
        x[k] = m.a[i / m.columns * m.a_stride + k];
        y[k] = m.b[k * m.b_stride + i % m.columns];
      }
      const float cut = unit::fused_group(group, unit::f16_operand, 16, x, y, m.c[i]);
      if (!tile::is_finite(cut)) {
        m.c[i] = cut;
        continue;
      }
      const unit::Sum sum = unit::finite_sum(group, unit::f16_operand, 16, x, y, m.c[i]);
      m.c[i] = static_cast<float>(std::ldexp(static_cast<double>(sum.total), sum.exponent)) + 0.0F;
    }
  };
  EXPECT_GT(differing(f16, nearest), 0);
  EXPECT_GT(differing(bf16,
                      [](const unit::Matrices& m) {
                        unit::multiply(m, Group{16, 24, -133}, unit::M16N8K16BF16{});
                      }),
            0);
}

struct Corner {
  const char* what;
  std::vector<std::pair<float, float>> products;  // the rest are zeros
  float c, expected;
};

template <class Unit>
void expect_corner(const Corner& corner) {
  const Group group = Unit::known(*architecture("sm_90")).group;
  float a[16] = {}, b[16] = {};
  for (std::size_t k = 0; k < corner.products.size(); ++k) {
    a[k] = corner.products[k].first, b[k] = corner.products[k].second;
  }
  const float scalar = unit::fused_group(group, Unit::format, 16, a, b, corner.c);
  float lane = corner.c;
  unit::multiply(unit::Matrices{a, b, &lane, 16, 1, 1, 1, 1, 16}, group, Unit{});
  for (const float result : {scalar, lane}) {
    EXPECT_EQ(tile::bits_of(result), tile::bits_of(corner.expected)) << corner.what << ": " << result;
  }
}

std::vector<std::pair<float, float>> times(int n, float a, float b) { return std::vector(n, std::pair(a, b)); }

TEST(UnitCorners, OfBothFormats) {
  const float inf = tile::infinity(), nan = tile::canonical_nan();
  const Corner corners[] = {
      {"four that straddle the last place",
       {{-0x1p13F, 0x1p10F}, {-0.5F, 1.0F}, {-0.25F, 1.0F}, {-0.125F, 1.0F}},
       0x1p23F,
       -0.75F},
      {"all -0, c -0", times(16, -0.0F, 1.0F), -0.0F, 0.0F},
      {"all -0, c +0", times(16, -0.0F, 1.0F), 0.0F, 0.0F},
      {"all +0, c -0", times(16, 0.0F, 1.0F), -0.0F, 0.0F},
      {"1 - 1", {{1.0F, 1.0F}}, -1.0F, 0.0F},
      {"zeros, c the smallest", {}, 0x1p-149F, 0x1p-149F},
      {"zeros, c minus the smallest", {}, -0x1p-149F, -0x1p-149F},
      {"Inf times 0", {{inf, 0.0F}}, 1.0F, nan},
      {"NaN times 1", {{nan, 1.0F}}, 1.0F, nan},
      {"c a NaN with a payload", {{1.0F, 1.0F}}, tile::float_of(0x7FC12345U), nan},
      {"Inf - Inf", {{inf, 1.0F}, {-inf, 1.0F}}, 1.0F, nan},
      {"Inf", {{inf, 1.0F}}, 1.0F, inf},
      {"-Inf", {{-inf, 1.0F}}, 1.0F, -inf},
  };
  for (const Corner& corner : corners) {
    expect_corner<unit::M16N8K16F16>(corner);
    expect_corner<unit::M16N8K16BF16>(corner);
  }
}

TEST(UnitCorners, OfBF16) {
  std::vector<std::pair<float, float>> near_floor = times(15, 0x1.fcp-70F, 0x1p-84F);
  near_floor.emplace_back(0x1.1p-70F, 0x1p-83F);
  const Corner corners[] = {
      {"sixteen 2^-152", times(16, 0x1p-76F, 0x1p-76F), 0.0F, 0x1p-148F},
      {"one 2^-148", {{0x1p-74F, 0x1p-74F}}, 0.0F, 0x1p-148F},
      {"sixteen 2^-158", times(16, 0x1p-79F, 0x1p-79F), 0.0F, 0.0F},
      {"below the floor, c +0", near_floor, 0.0F, 0.0F},
      {"below the floor, c -0", near_floor, -0.0F, 0.0F},
      {"a subnormal result", {{0x1.8p-70F, 0x1p-70F}}, 0.0F, 0x1.8p-140F},
      {"2^128", {{0x1p64F, 0x1p64F}}, 0.0F, tile::infinity()},
      {"-2^128", {{-0x1p64F, 0x1p64F}}, 0.0F, -tile::infinity()},
      {"2^127 and the largest", {{0x1p64F, 0x1p63F}}, 0x1.fffffep127F, tile::infinity()},
      {"2^-126 and the smallest", {{0x1p-63F, 0x1p-63F}}, 0x1p-149F, tile::float_of(0x00800001U)},
  };
  for (const Corner& corner : corners) expect_corner<unit::M16N8K16BF16>(corner);
}

TEST(UnitCorners, OfF16) {
  expect_corner<unit::M16N8K16F16>({"a subnormal operand", {{0x1p-14F, 0x1p-24F}}, 0.0F, 0x1p-38F});
}

// The fingerprint of published measurements: what the first corner gives on each generation.
TEST(UnitCorners, FingerprintOfArchitectures) {
  const float a[4] = {-0x1p13F, -0.5F, -0.25F, -0.125F}, b[4] = {0x1p10F, 1.0F, 1.0F, 1.0F};
  const auto of = [&](const char* name) {
    const Group group = architecture(name)->f16.group;
    float c = 0x1p23F;
    unit::multiply(unit::Matrices{a, b, &c, 4, 1, 1, 1, 1, 4}, group, unit::M16N8K16F16{});
    return c;
  };
  EXPECT_EQ(of("sm_70"), 0.0F);
  for (const char* name : {"sm_75", "sm_80", "sm_86", "sm_89"}) EXPECT_EQ(of(name), -0.5F) << name;
  for (const char* name : {"sm_90", "sm_100", "sm_120"}) EXPECT_EQ(of(name), -0.75F) << name;
}

// Lanes have the definition's bits for every architecture, on operands of every kind, odd sizes included.
template <class Unit, class T>
void expect_lanes(unsigned seed) {
  std::mt19937 random(seed);
  const auto any = [&](int kind) {
    const auto word = static_cast<std::uint32_t>(random());
    if (kind == 0) return tile::decode(tile::encode<T>(std::ldexp(static_cast<float>(word % 4097) - 2048, -11)));
    if (kind == 1)
      return tile::decode(tile::encode<T>(std::ldexp(1.0F + static_cast<float>(word % 512) / 512, word / 512 % 30) *
                                          (word >> 31 ? -1 : 1)));
    if constexpr (std::is_same_v<T, float>)
      return tile::float_of(word);
    else
      return tile::decode(T{static_cast<typename T::Bits>(word)});  // NaN and Inf included
  };
  for (const unit::Architecture& of : unit::architectures) {
    const Group group = Unit::known(of).group;
    if (group.length == 0) continue;
    for (int round = 0; round < 60; ++round) {
      const int rows = 1 + round % 5, columns = 1 + static_cast<int>(random() % 19);
      const int depth = 1 + static_cast<int>(random() % 150), kind = round % 3;
      std::vector<float> a(rows * depth), b(depth * columns), c(rows * columns), by_element;
      for (float& x : a) x = any(kind);
      for (float& x : b) x = any(kind);
      if (kind == 2 && round % 2 == 0) {  // finite, of every size
        for (float& x : a) x = tile::is_finite(x) ? x : 0.0F;
        for (float& x : b) x = tile::is_finite(x) ? x : 1.0F;
      }
      for (float& x : c) x = kind == 2 ? tile::float_of(static_cast<std::uint32_t>(random())) : any(0);
      by_element = c;
      unit::multiply(unit::Matrices{a.data(), b.data(), c.data(), depth, columns, columns, rows, columns, depth}, group,
                     Unit{});
      for (int i = 0; i < rows * columns; ++i) {
        float expected = by_element[i];
        expected = unit::detail::chain_element<Unit>(group, &a[i / columns * depth], &b[i % columns], columns, depth,
                                                     expected);
        ASSERT_TRUE(same(c[i], expected))
            << of.name << " round " << round << " element " << i << ": " << c[i] << " instead of " << expected;
      }
    }
  }
}

TEST(UnitLanes, HaveTheBitsOfTheDefinition) {
  expect_lanes<unit::M16N8K16F16, tile::f16>(1);
  expect_lanes<unit::M16N8K16BF16, tile::bf16>(2);
  expect_lanes<unit::M16N8K8TF32, float>(3);
  expect_lanes<unit::M16N8K32E4M3, tile::e4m3>(4);
  expect_lanes<unit::WgmmaE4M3, tile::e4m3>(5);
}

}  // namespace
}  // namespace nbx::testing
