// gate1.centring: a constant vector added to every key changes no softmax.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "contracts/families/splash_family.hpp"
#include "contracts/families/splash_instance.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {

OwnVerdict judge_centring(const SplashProblem& p, const SplashData& data, const Call& call,
                          const std::vector<Bytes>& outputs, const oracle::Evaluation& moved) {
  if (p.kind != SplashKind::moved) return {};
  const Bytes* o = nullptr;
  std::size_t next = 0;
  for (const CallTensor& tensor : call.tensors)
    if (tensor.role != NBX_IN && ++next > 0 && tensor.name == "o") o = &outputs.at(next - 1);
  if (o == nullptr) return {};
  // The keys as they were before, exactly.
  const oracle::Format format = *oracle_format(data.format);
  Bytes before = *data.k;
  for (std::int64_t i = 0; i < count(data.k_shape); ++i) {
    const double key = value_at(*data.k, data.format, i) - moved_by(p, i % p.D);
    const std::uint32_t bits = oracle::encode(format, key);
    if (oracle::decode(format, bits) != key)
      throw std::logic_error(problem_name(p) + ": moving the keys back rounds them");
    put_pattern(before, data.format, i, bits);
  }
  oracle::AttentionInput in = splash_attention(data.input(p));
  in.k.bytes = before;
  const oracle::Evaluation there = oracle::evaluate(in, {});
  OwnVerdict verdict{.asked = true};
  double worst = 0;
  for (std::int64_t e = 0; e < static_cast<std::int64_t>(there.outputs[0].expected.value.size()); ++e) {
    const auto at = static_cast<std::size_t>(e);
    // Of the arithmetics that were evaluated the widest, with the radii of both references.
    double bound = there.outputs[0].expected.radius[at] + moved.outputs[0].expected.radius[at];
    double of_kernel = 0;
    for (const oracle::Bounds& bounds : moved.outputs[0].bounds) of_kernel = std::fmax(of_kernel, bounds.bound[at]);
    bound += of_kernel;
    const double value = value_at(*o, data.format, e), right = there.outputs[0].expected.value[at];
    const double off = std::fabs(value - right);
    worst = std::fmax(worst, off / bound);
    if (off <= bound || !verdict.wrong.empty()) continue;
    verdict.wrong = {
        {"wrong", fmt::format("element {} of o is not that of the keys before {:+g} was added to them", e, p.size)},
        {"expected", fmt::format("{:.9g} +- {:.3g}", right, bound)},
        {"actual", fmt::format("{:.9g}", value)}};
  }
  verdict.detail = {{"centring", fmt::format("within {:.3g} of the bound of the keys as they were before", worst)}};
  return verdict;
}

}  // namespace nbx::contracts
