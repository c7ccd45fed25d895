#include "contracts/gates/compare.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "contracts/dense.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {

std::vector<const CallTensor*> output_tensors(const Call& call) {
  std::vector<const CallTensor*> out;
  for (const CallTensor& tensor : call.tensors)
    if (tensor.role != NBX_IN) out.push_back(&tensor);
  return out;
}

const OutputInfo& output_info(const Instance& instance, const std::string& name) {
  for (const OutputInfo& info : instance.outputs())
    if (info.name == name) return info;
  throw std::logic_error(fmt::format("the family has no output '{}'", name));
}

std::optional<Difference> difference(const Call& plain_call, const Outcome& plain, const Call& other_call,
                                     const Outcome& other,
                                     const std::map<std::string, std::vector<std::int64_t>>* base) {
  const auto plain_outputs = output_tensors(plain_call), other_outputs = output_tensors(other_call);
  for (std::size_t o = 0; o < other_outputs.size(); ++o) {
    const CallTensor& tensor = *other_outputs[o];
    for (std::size_t p = 0; p < plain_outputs.size(); ++p) {
      if (plain_outputs[p]->name != tensor.name) continue;
      const Bytes& a = plain.outputs.at(p);
      const Bytes& b = other.outputs.at(o);
      if (!base && a == b) continue;
      const std::vector<std::int64_t>* map = base ? &base->at(tensor.name) : nullptr;
      Difference found{.output = tensor.name, .differing = {}, .plain = 0, .other = 0};
      for (std::int64_t i = 0; i < count(tensor.shape); ++i) {
        const std::int64_t j = map ? (*map)[static_cast<std::size_t>(i)] : i;
        if (j < 0) continue;
        const std::uint32_t x = pattern_at(a, tensor.dtype, j), y = pattern_at(b, tensor.dtype, i);
        if (same_value(x, y, tensor.dtype)) continue;
        if (found.differing.empty()) {
          found.plain = x;
          found.other = y;
        }
        found.differing.push_back(j);
      }
      if (!found.differing.empty()) return found;
    }
  }
  return std::nullopt;
}

}  // namespace nbx::contracts
