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

const Outcome& Subject::along(const AxisInfo& axis, std::int64_t value) {
  const auto [at, fresh] = along_.try_emplace({axis.option, value});
  if (fresh) {
    Call with = call(prepared->instance->call());
    with.launch.options = {int_param(axis.option, value)};
    at->second = run(with);
  }
  return at->second;
}

}  // namespace nbx::contracts
