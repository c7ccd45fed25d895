// How a red is told: the counterexample, the bound, where it lies, and how to ask again.
#pragma once

#include <string>
#include <vector>

#include "contracts/gates/clause.hpp"
#include "oracle/verdict.hpp"

namespace nbx::contracts {

using Lines = std::vector<std::pair<std::string, std::string>>;

/// What there is to say of one output's judgement: how many are wrong and where, and its worst element in full.
Lines reference_lines(Subject& subject, const std::string& launch, const OutputInfo& output,
                      std::size_t evaluation_index, const oracle::Bounds& bounds, const Bytes& actual,
                      const oracle::Judgement& judgement);

/// A red for two runs whose bits differ. `differing` are elements of `output` as the plain call numbers them.
struct Difference {
  std::string output;
  std::vector<std::int64_t> differing;  // element numbers in the plain output
  std::uint32_t plain = 0, other = 0;   // patterns at the first of them
};
Verdict red_difference(Subject& subject, const std::string& way, const OutputInfo& output,
                       const Difference& difference);

/// A red for a call that crashed, hung, was refused where it should run, or broke the interface.
Verdict red_outcome(Subject& subject, const std::string& way, const Outcome& outcome);

/// A red in words alone.
Verdict red_text(Lines lines);

/// "a run came back": nothing where the outcome ran; a declined, or a red, otherwise.
std::optional<Verdict> not_run(Subject& subject, const std::string& way, const Outcome& outcome);

/// Where `elements` lie in `shape`: "head 1, rows 128-129 (the last 2 of 130), all columns".
std::string spatial_pattern(const std::vector<std::int64_t>& shape, const std::vector<std::string>& axes,
                            const std::vector<std::int64_t>& elements);

/// "[0,1,128,0]".
std::string index_text(const std::vector<std::int64_t>& shape, std::int64_t element);

/// What `lines` share for any red about an outcome's memory.
std::string fault_text(const MemoryFault& fault);

}  // namespace nbx::contracts
