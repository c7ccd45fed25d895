#include "contracts/child/loaded_pack.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <exception>

namespace nbx::contracts::sandbox {
namespace {

/// The size of each struct in the interface's first version: none may be smaller.
template <class T>
constexpr std::size_t first_size = 0;
template <>
constexpr std::size_t first_size<nbx_pack> = offsetof(nbx_pack, compile_commands) + sizeof(const char*);
template <>
constexpr std::size_t first_size<nbx_kernel> = offsetof(nbx_kernel, unit) + sizeof(const char*);
template <>
constexpr std::size_t first_size<nbx_axis> = offsetof(nbx_axis, value_count) + sizeof(std::size_t);
template <>
constexpr std::size_t first_size<nbx_equality> = offsetof(nbx_equality, reason) + sizeof(const char*);
template <>
constexpr std::size_t first_size<nbx_control> = offsetof(nbx_control, crashes) + sizeof(std::uint32_t);
template <>
constexpr std::size_t first_size<nbx_limits> = offsetof(nbx_limits, shared_bytes) + sizeof(std::int32_t);
template <>
constexpr std::size_t first_size<nbx_memory> = offsetof(nbx_memory, can_guard) + sizeof(std::uint32_t);

/// A struct of the pack as this harness knows it: what its writer did not know is zero.
template <class T>
T read(const T* from, std::string_view what) {
  if (from == nullptr) throw UnusablePack(fmt::format("{} is NULL", what));
  std::uint32_t size = 0;
  std::memcpy(&size, from, sizeof size);
  if (size < first_size<T>) {
    throw UnusablePack(
        fmt::format("{} has struct_size {}; interface 1 has at least {} bytes", what, size, first_size<T>));
  }
  T value{};
  std::memcpy(static_cast<void*>(&value), from, std::min<std::size_t>(size, sizeof value));
  return value;
}

std::string text(const char* from) { return from == nullptr ? std::string() : std::string(from); }

std::string needed_text(const char* from, std::string_view what) {
  if (from == nullptr || *from == '\0') throw UnusablePack(fmt::format("{} is missing", what));
  return from;
}

template <class T>
const T* array(const T* from, std::size_t count, std::string_view what) {
  constexpr std::size_t most = 1'000'000;
  if (count > most) throw UnusablePack(fmt::format("{} has {} entries", what, count));
  if (from == nullptr && count != 0) throw UnusablePack(fmt::format("{} is NULL and has {} entries", what, count));
  return from;
}

std::vector<std::string> texts(const char* const* from, std::size_t count, const std::string& what) {
  array(from, count, what);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(needed_text(from[i], what));
  return result;
}

std::vector<AxisInfo> axes_of(const nbx_kernel& kernel, const std::string& who) {
  std::vector<AxisInfo> axes;
  const auto* all = array(kernel.axes, kernel.axis_count, who + ".axes");
  for (std::size_t i = 0; i < kernel.axis_count; ++i) {
    const nbx_axis axis = read(all[i], who + ".axes");
    const std::int64_t* values = array(axis.values, axis.value_count, who + ".axes.values");
    axes.push_back({needed_text(axis.option, who + ".axes.option"), text(axis.clause), {}});
    if (axis.value_count != 0) axes.back().values.assign(values, values + axis.value_count);
  }
  return axes;
}

std::vector<EqualityInfo> equalities_of(const nbx_kernel& kernel, const std::string& who) {
  std::vector<EqualityInfo> equalities;
  const auto* all = array(kernel.equalities, kernel.equality_count, who + ".equalities");
  for (std::size_t i = 0; i < kernel.equality_count; ++i) {
    const nbx_equality equality = read(all[i], who + ".equalities");
    equalities.push_back(
        {needed_text(equality.clause, who + ".equalities.clause"), text(equality.other), text(equality.reason)});
  }
  return equalities;
}

ControlInfo control_of(const nbx_control* from, const std::string& who) {
  const nbx_control control = read(from, who + ".control");
  return {needed_text(control.mutates, who + ".control.mutates"),
          needed_text(control.planted, who + ".control.planted"),
          texts(control.red_at, control.red_at_count, who + ".control.red_at"),
          texts(control.problems, control.problem_count, who + ".control.problems"),
          text(control.verdict),
          control.crashes != 0};
}

void hold_to_interface(const nbx_kernel& kernel, const std::string& who) {
  const std::pair<const char*, bool> entries[] = {{"can_run", kernel.can_run != nullptr},
                                                  {"arithmetic", kernel.arithmetic != nullptr},
                                                  {"workspace_bytes", kernel.workspace_bytes != nullptr},
                                                  {"check", kernel.check != nullptr},
                                                  {"run", kernel.run != nullptr}};
  for (const auto& [entry, given] : entries) {
    if (!given) throw UnusablePack(fmt::format("{}: its entry point {} is NULL", who, entry));
  }
  constexpr std::uint32_t most_alignment = 4096;
  if (!std::has_single_bit(kernel.alignment) || kernel.alignment > most_alignment) {
    throw UnusablePack(
        fmt::format("{}: its alignment {} is not a power of two up to {}", who, kernel.alignment, most_alignment));
  }
}

KernelInfo describe(const nbx_kernel& kernel, const std::string& who) {
  KernelInfo info;
  info.name = who;
  info.family = needed_text(kernel.family, who + ": its family");
  info.format = kernel.format;
  info.optional_outputs = texts(kernel.optional_outputs, kernel.optional_output_count, who + ".optional_outputs");
  info.alignment = kernel.alignment;
  info.axes = axes_of(kernel, who);
  info.equalities = equalities_of(kernel, who);
  if (kernel.control != nullptr) info.control = control_of(kernel.control, who);
  if (kernel.limits != nullptr) info.limits = read(kernel.limits, who + ".limits");
  info.declares_cost = kernel.cost != nullptr;
  info.symbol = text(kernel.symbol);
  info.unit = text(kernel.unit);
  return info;
}

nbx_memory memory_of(const nbx_pack& pack) {
  nbx_memory memory{};
  if (pack.memory != nullptr) memory = read(pack.memory, "the pack's memory");
  const int given = (memory.allocate != nullptr) + (memory.release != nullptr) + (memory.copy_in != nullptr) +
                    (memory.copy_out != nullptr) + (memory.synchronise != nullptr);
  const bool host = pack.device.device_type == kDLCPU;
  if (given != 5 && !(host && given == 0)) {
    throw UnusablePack(fmt::format("its memory gives {} of the 5 functions; {}", given,
                                   host ? "a pack of the host gives all or none" : "a device needs them all"));
  }
  return memory;
}

using Open = const nbx_pack* (*)(std::uint32_t, char*, std::size_t);

Open entry_of(const std::filesystem::path& file) {
  // Relative names without a slash would be looked up in the library path.
  void* const library = dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw UnusablePack(fmt::format("not a loadable library: {}", dlerror()));
  void* const symbol = dlsym(library, "nbx_pack_open");
  if (symbol == nullptr) throw UnusablePack("not a pack: it has no symbol nbx_pack_open");
  return reinterpret_cast<Open>(symbol);
}

const nbx_pack* open_pack(Open open) {
  char message[1024] = {};
  const nbx_pack* pack = nullptr;
  try {
    pack = open(NBX_PACK_INTERFACE, message, sizeof message);
  } catch (const std::exception& error) {
    throw UnusablePack(fmt::format("an exception escaped from nbx_pack_open: {}", error.what()));
  } catch (...) {
    throw UnusablePack("an exception of unknown type escaped from nbx_pack_open");
  }
  if (pack == nullptr) {
    message[sizeof message - 1] = '\0';
    throw UnusablePack(fmt::format("the pack declines: {}", *message != '\0' ? message : "it gives no reason"));
  }
  return pack;
}

}  // namespace

LoadedPack::LoadedPack(const std::filesystem::path& file, Note& note) {
  note.stage.store(Stage::load);
  const Open open = entry_of(file);
  note.stage.store(Stage::pack_open);
  const nbx_pack* const opened = open_pack(open);
  note.stage.store(Stage::pack_table);
  // The version before all else: it says what the rest means.
  if (opened->struct_size < offsetof(nbx_pack, pack_interface) + sizeof(opened->pack_interface)) {
    throw UnusablePack(fmt::format("the pack has struct_size {}", opened->struct_size));
  }
  if (opened->pack_interface != NBX_PACK_INTERFACE) {
    throw UnusablePack(
        fmt::format("the pack speaks interface {}, this harness {}", opened->pack_interface, NBX_PACK_INTERFACE));
  }
  const nbx_pack pack = read(opened, "the pack");
  memory_ = memory_of(pack);
  info_.name = needed_text(pack.name, "the pack's name");
  info_.device_name = text(pack.device_name);
  info_.imitates = text(pack.imitates);
  info_.toolchain = text(pack.toolchain);
  info_.flags = text(pack.flags);
  info_.compile_commands = text(pack.compile_commands);
  info_.driver = text(pack.driver);
  info_.device = pack.device;
  info_.can_guard = memory() == nullptr || memory_.can_guard != 0;
  const auto* all = array(pack.kernels, pack.kernel_count, "the pack's list of kernels");
  if (pack.kernel_count == 0) throw UnusablePack("the pack has no kernels");
  for (std::size_t i = 0; i < pack.kernel_count; ++i) {
    const nbx_kernel kernel = read(all[i], fmt::format("kernel {} of the pack", i));
    const std::string who = needed_text(kernel.name, fmt::format("the name of kernel {} of the pack", i));
    if (find(who) != nullptr) throw UnusablePack(fmt::format("two kernels of the pack are named {}", who));
    hold_to_interface(kernel, who);
    kernels_.push_back({all[i], kernel});
    info_.kernels.push_back(describe(kernel, who));
  }
}

const LoadedKernel* LoadedPack::find(std::string_view kernel_name) const {
  const auto named = [&](const LoadedKernel& kernel) { return kernel.view.name == kernel_name; };
  const auto found = std::find_if(kernels_.begin(), kernels_.end(), named);
  return found == kernels_.end() ? nullptr : &*found;
}

}  // namespace nbx::contracts::sandbox
