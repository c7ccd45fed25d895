// Holds the matrix units of the live device against their models, tile by tile, bit for bit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nbx::contracts {

struct ProbedUnit {
  std::string name;  // "m16n8k16.mma.f16"
  std::int64_t elements = 0, deviations = 0;
  std::vector<std::string> lines;  // the first deviations, each a line of tests/kernels/vectors/lines.txt
};

struct Probe {
  std::string device, architecture;
  std::string no_device;            // why there is none; empty: there is one
  std::vector<std::string> errors;  // what failed in the harness, or a model that is missing
  std::vector<ProbedUnit> units;
};

/// Both packs, the instructions on the device and the models on the CPU, get the same `tiles` random, wide, cancelling
/// and arbitrary tiles of each unit, and its corner tiles. A NaN is held against a NaN.
Probe probe(const std::filesystem::path& device_pack, const std::filesystem::path& model_pack, std::uint64_t seed,
            std::int64_t tiles);

}  // namespace nbx::contracts
