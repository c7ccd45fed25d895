// The pack of controls: every mutation in every kernel that its row names.
#include <deque>
#include <string>
#include <vector>

#include "controls/tables.hpp"
#include "controls/wrapper.hpp"
#include "kernels/pack/imitate.hpp"
#include "kernels/pack/refusal.hpp"

namespace nbx::controls {
namespace {

/// Kernels point to their controls and names, so nothing here may move once it is made.
class Pack {
 public:
  Pack() {
    for (const auto& table : tables) {
      for (const Mutation& mutation : table()) {
        for (const Target& target : mutation.on.all()) add(mutation, target);
      }
    }
    for (const nbx_kernel& kernel : kernels_) pointers_.push_back(&kernel);
  }

  const std::vector<const nbx_kernel*>& kernels() const { return pointers_; }

 private:
  void add(const Mutation& mutation, const Target& target) {
    const std::string& name = names_.emplace_back(std::string(target.honest->name) + "." + mutation.name);
    nbx_control& control = controls_.emplace_back();
    control.struct_size = sizeof control;
    control.mutates = target.honest->name;
    control.planted = mutation.planted;
    control.red_at = mutation.red_at.item;
    control.red_at_count = mutation.red_at.count;
    control.problems = mutation.problems.item;
    control.problem_count = mutation.problems.count;
    control.verdict = mutation.verdict;
    control.crashes = mutation.crashes ? 1 : 0;
    kernels_.push_back(wrapped(target, mutation, name.c_str(), &control));
  }

  std::deque<std::string> names_;
  std::deque<nbx_control> controls_;
  std::deque<nbx_kernel> kernels_;
  std::vector<const nbx_kernel*> pointers_;
};

}  // namespace
}  // namespace nbx::controls

const nbx_pack* nbx_pack_open(std::uint32_t pack_interface, char* message, std::size_t capacity) {
  if (pack_interface != NBX_PACK_INTERFACE) {
    nbx::pack::write_message(
        message, capacity,
        "pack interface: " + std::to_string(pack_interface) + "; accepted: " + std::to_string(NBX_PACK_INTERFACE));
    return nullptr;
  }
  if (const std::string wrong = nbx::pack::choose_imitated(); !wrong.empty()) {
    nbx::pack::write_message(message, capacity, wrong);
    return nullptr;
  }
  static const nbx::controls::Pack all;
  static nbx_pack pack{};
  pack.struct_size = sizeof(nbx_pack);
  pack.pack_interface = NBX_PACK_INTERFACE;
  pack.name = "controls";
  pack.device = {kDLCPU, 0};
  pack.device_name = "host";
  pack.imitates = nbx::unit::imitated().name.data();  // of a literal, which ends it
  pack.toolchain = NBX_TOOLCHAIN;
  pack.flags = NBX_FLAGS;
  pack.kernels = all.kernels().data();
  pack.kernel_count = all.kernels().size();
  return &pack;
}
