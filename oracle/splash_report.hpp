// What other gates of fixed-m attention would cost on given inputs, and gain.
#pragma once

#include <string>
#include <vector>

#include "oracle/splash.hpp"

namespace nbx::oracle {

/// A gate on U, what it rests on, and what it promises.
struct GateRule {
  std::string name, assumption, bound;
  int gate = 0;
};
/// ⌊W/2⌋, C + 116 − ⌈log2 N⌉, C + 116, W: from the one that always holds to the one that loses half.
std::vector<GateRule> gate_rules(std::int64_t keys, double v_max);

/// One gate over the calls added so far.
struct GateLoss {
  std::int64_t entries = 0, fallen = 0;  // (batch, head, block) entries, and those that fall back
  std::int64_t calls = 0, calls_with_any = 0;
  double lost_mass = 0, lost_contribution = 0;  // the largest over the rows that do not fall back
};

/// Adds one call to `total`, one GateLoss per rule: keys are centred on their mean (in fp32), blocks that pass the gate
/// take the shift ⌈U⌉ − C, and every row's loss is measured.
void add_call(const SplashInput& input, const std::vector<GateRule>& rules, bool flush_to_zero,
              std::vector<GateLoss>& total);

}  // namespace nbx::oracle
