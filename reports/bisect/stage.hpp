// Which stage of nvcc brings a change: the front end, which writes PTX, or ptxas, which makes machine code of it.
#pragma once

#include <cstdint>
#include <string>

#include "reports/bisect/search.hpp"

namespace nbx::reports::bisect {

struct StageBlame {
  enum class Culprit : std::uint8_t {
    not_asked,
    front_end,  // the bad front end before the good ptxas brings the change, and the bad ptxas alone does not
    ptxas,      // the other way round
    each,       // either alone brings a change
    together,   // only the bad front end before the bad ptxas
    untestable  // one of the mixtures does not build
  };
  Culprit culprit = Culprit::not_asked;
  std::string why_not;
};

/// What the two mixtures do: the bad front end before the good ptxas, and the good one before the bad ptxas.
StageBlame::Culprit blame_stage(Answer bad_front_end, Answer bad_ptxas);

/// "front end", "ptxas", "each", "together", "untestable", "not asked".
const char* stage_name(StageBlame::Culprit culprit);

/// "front end: the PTX of the bad one through either ptxas brings it".
std::string stage_text(StageBlame::Culprit culprit);

}  // namespace nbx::reports::bisect
