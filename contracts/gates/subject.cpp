#include "contracts/gates/subject.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace nbx::contracts {

std::size_t Prepared::output_index(const std::string& name) const {
  for (std::size_t i = 0; i < evaluation.outputs.size(); ++i)
    if (evaluation.outputs[i].name == name) return i;
  throw std::logic_error(fmt::format("the oracle gives no output '{}'", name));
}

const Outcome& Subject::base() {
  if (!base_) base_ = run(call(prepared->instance->call()));
  return *base_;
}

}  // namespace nbx::contracts
