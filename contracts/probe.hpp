// Holds the matrix units of the live device against their models, tile by tile, bit for bit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nbx::contracts {

struct ProbedUnit {
  std::string name;  // "m16n8k16.mma.f16", with " x 4" for a chain of four instructions
  std::int64_t elements = 0, deviations = 0;
  std::string absent;              // why this device has no such unit; empty: it has
  std::vector<std::string> lines;  // the first deviations, each a line of tests/kernels/vectors/lines.txt
};

struct Probe {
  std::string device, architecture;
  std::string no_device;            // why there is none; empty: there is one
  std::vector<std::string> errors;  // what failed in the harness, or a model that is missing
  std::vector<ProbedUnit> units;
};

/// Both packs, the instructions on the device and the models on the CPU, get the same random, wide, cancelling,
/// arbitrary and corner tiles of each unit, as one instruction and as a chain of four: `tiles` of at most 128 elements,
/// fewer where a tile has more, but at least as many elements. A NaN is held against a NaN.
Probe probe(const std::filesystem::path& device_pack, const std::filesystem::path& model_pack, std::uint64_t seed,
            std::int64_t tiles);

}  // namespace nbx::contracts
