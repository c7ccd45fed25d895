// Reads the vector files: tiles that a device multiplied, with what its instruction returned (vectors/README.md).
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/tile/number.hpp"

namespace nbx::testing {

/// Tiles of one shape, operands decoded to fp32 (exact).
struct UnitVectors {
  int M, N, K, tiles;
  std::vector<float> a, b, c, d;  // [tiles][M][K], [tiles][N][K], [tiles][M][N], [tiles][M][N]
};

inline std::string file_bytes(const std::string& name) {
  std::ifstream file(std::string(NBX_VECTORS "/") + name, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
std::vector<float> decoded(const char*& from, std::size_t count) {
  std::vector<float> out;
  for (std::size_t i = 0; i < count; ++i, from += sizeof(T)) {
    T x;
    std::memcpy(&x, from, sizeof x);
    out.push_back(tile::decode(x));
  }
  return out;
}

template <class T>
UnitVectors read_unit_vectors(const std::string& name) {
  const std::string bytes = file_bytes(name);
  std::int32_t head[6];
  std::memcpy(head, bytes.data(), sizeof head);
  UnitVectors out{head[1], head[2], head[3], head[4], {}, {}, {}, {}};
  const auto size = [&](int x, int y) { return static_cast<std::size_t>(out.tiles) * static_cast<std::size_t>(x * y); };
  const char* at = bytes.data() + sizeof head;
  out.a = decoded<T>(at, size(out.M, out.K));
  out.b = decoded<T>(at, size(out.N, out.K));
  out.c = decoded<float>(at, size(out.M, out.N));
  out.d = decoded<float>(at, size(out.M, out.N));
  if (at != bytes.data() + bytes.size()) throw std::runtime_error(name + " has another length than its head says");
  return out;
}

}  // namespace nbx::testing
