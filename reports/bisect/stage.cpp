#include "reports/bisect/stage.hpp"

namespace nbx::reports::bisect {

StageBlame::Culprit blame_stage(Answer bad_front_end, Answer bad_ptxas) {
  using Culprit = StageBlame::Culprit;
  if (bad_front_end == Answer::untestable || bad_ptxas == Answer::untestable) return Culprit::untestable;
  const bool front_end = bad_front_end == Answer::changed, ptxas = bad_ptxas == Answer::changed;
  return front_end && ptxas ? Culprit::each
         : front_end        ? Culprit::front_end
         : ptxas            ? Culprit::ptxas
                            : Culprit::together;
}

const char* stage_name(StageBlame::Culprit culprit) {
  static constexpr const char* names[] = {"not asked", "front end", "ptxas", "each", "together", "untestable"};
  return names[static_cast<int>(culprit)];
}

std::string stage_text(StageBlame::Culprit culprit) {
  using Culprit = StageBlame::Culprit;
  switch (culprit) {
    case Culprit::not_asked:
      return "not asked";
    case Culprit::front_end:
      return "front end: its PTX brings it through the good ptxas too, and good PTX through the bad one does not";
    case Culprit::ptxas:
      return "ptxas: the bad one brings it from good PTX, and bad PTX through the good one does not";
    case Culprit::each:
      return "either: bad PTX through the good ptxas brings a change, and so does good PTX through the bad one";
    case Culprit::together:
      return "only together: bad PTX through the bad ptxas alone brings it";
    case Culprit::untestable:
      break;
  }
  return "cannot be tested: a mixture of front end and ptxas does not build";
}

}  // namespace nbx::reports::bisect
