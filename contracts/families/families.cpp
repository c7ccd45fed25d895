// The families that exist. Add one: a line here, and its own file.
#include <algorithm>

#include "contracts/families/attention_family.hpp"
#include "contracts/families/decode_family.hpp"
#include "contracts/families/paged_append_family.hpp"
#include "contracts/families/paged_decode_family.hpp"
#include "contracts/families/q35_family.hpp"
#include "contracts/families/sdpa_family.hpp"
#include "contracts/families/softmax_family.hpp"
#include "contracts/families/splash_family.hpp"
#include "contracts/families/splash_ring_family.hpp"

namespace nbx::contracts {

std::span<const Family* const> families() {
  static const std::vector<const Family*> all = [] {
    std::vector<const Family*> list{&softmax_family(),          &log_softmax_family(),  &attention_family(),
                                    &attention_scaled_family(), &sdpa_family(),         &decode_family(),
                                    &paged_append_family(),     &paged_decode_family(), &q35_family()};
    for (const SplashRole role : splash_roles) list.push_back(&splash_family(role));
    for (const bool fixed : {true, false}) list.push_back(&splash_ring_family(fixed));
    return list;
  }();
  return all;
}

const Family* family_named(std::string_view name) {
  for (const Family* family : families())
    if (family->name() == name) return family;
  return nullptr;
}

Call call_for(const Family& family, const KernelInfo& kernel, const Call& call) {
  Call out = call;
  out.kernel = kernel.name;
  const auto optional = family.optional_outputs();
  std::erase_if(out.tensors, [&](const CallTensor& tensor) {
    const bool is_optional = std::find(optional.begin(), optional.end(), tensor.name) != optional.end();
    const bool given = std::find(kernel.optional_outputs.begin(), kernel.optional_outputs.end(), tensor.name) !=
                       kernel.optional_outputs.end();
    return is_optional && !given;
  });
  return out;
}

}  // namespace nbx::contracts
