// The inputs of a splash problem: exact bit patterns from the seed, and the metadata that follow from them.
#pragma once

#include <string>
#include <vector>

#include "contracts/dense.hpp"
#include "contracts/families/splash_problems.hpp"
#include "oracle/splash.hpp"

namespace nbx::contracts {

struct SplashData {
  DLDataType format{};
  Shape q_shape, k_shape, v_shape;
  SharedBytes q, k, v;
  std::vector<double> k_mean;               // [B, Hk, D]: the mean of the keys, rounded to fp32; 0 where not centred
  std::vector<oracle::SplashBlock> blocks;  // [B, H, nQ]
  std::vector<double> shift;                // [B, H, nQ]: m_B; NaN: online
  oracle::SplashWindow window{};

  /// Of the views of this data, which must outlive it.
  oracle::SplashInput input(const SplashProblem& problem) const;
};

/// What was added to component d of every key (SplashKind::moved).
double moved_by(const SplashProblem& problem, std::int64_t d);
const char* kind_name(SplashKind kind);
const char* plant_name(SplashPlant plant);
/// "B=1,H=4,Hk=2,Tq=64,Tk=257,D=64,block_q=16,normal".
std::string problem_name(const SplashProblem& problem);
SplashData make_splash_data(const SplashProblem& problem, DLDataType format, std::uint64_t seed);

/// Dense, in fp32.
SharedBytes f32_bytes(const std::vector<double>& values);

}  // namespace nbx::contracts
