#include "contracts/child/kernel_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>

namespace nbx::contracts::sandbox {
namespace {

constexpr std::uint64_t most_workspace = std::uint64_t{64} << 30;

/// A message as valid UTF-8: reports are JSON and XML.
std::string clean(const std::string& message) {
  const auto plain = [](char letter) { return letter >= ' ' && letter <= '~'; };
  if (std::all_of(message.begin(), message.end(), plain)) return message;
  return nlohmann::json::parse(nlohmann::json(message).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
      .get<std::string>();
}

std::vector<nbx_param> as_params(const std::vector<Param>& params) {
  std::vector<nbx_param> result;
  for (const Param& param : params) {
    result.push_back({param.name.c_str(), param.kind, param.integer, param.real,
                      param.kind == NBX_TEXT ? param.text.c_str() : nullptr});
  }
  return result;
}

}  // namespace

CallStructs::CallStructs(const Call& call, DLDevice device)
    : device_(device), params_(as_params(call.params)), options_(as_params(call.launch.options)) {
  const std::size_t count = call.tensors.size();
  shapes_.reserve(count);
  strides_.reserve(count);
  tensors_.reserve(count);
  for (const CallTensor& tensor : call.tensors) {
    const TensorLayout layout(tensor);
    shapes_.push_back(tensor.shape);
    strides_.push_back(layout.strides());
    const DLTensor dlpack{forbidden_address(tensors_.size()),
                          device,
                          static_cast<std::int32_t>(tensor.shape.size()),
                          tensor.dtype,
                          shapes_.back().data(),
                          strides_.back().data(),
                          static_cast<std::uint64_t>(layout.offset_bytes())};
    tensors_.push_back({sizeof(nbx_tensor), tensor.role, tensor.name.c_str(), dlpack});
  }
  for (const nbx_tensor& tensor : tensors_) pointers_.push_back(&tensor);
  problem = {sizeof problem, call.family.c_str(), pointers_.data(), pointers_.size(), params_.data(),
             params_.size(), call.rank,           call.ranks,       nullptr};
  launch.struct_size = sizeof launch;
  launch.block_order = call.launch.block_order;
  launch.item_order = call.launch.item_order;
  launch.order_seed = call.launch.order_seed;
  launch.threads = call.launch.threads;
  launch.options = options_.data();
  launch.option_count = options_.size();
}

void CallStructs::place(std::size_t tensor, const Placement& placement) {
  tensors_[tensor].tensor = placement.as_dlpack(device_, shapes_[tensor].data(), strides_[tensor].data());
}

KernelEntries::KernelEntries(const LoadedKernel& kernel, CallStructs& structs, Note& note, const Block& message,
                             Outcome& outcome)
    : kernel_(kernel), structs_(structs), note_(note), message_(message), outcome_(outcome) {
  outcome_.kind = Outcome::Kind::ran;
}

bool KernelEntries::can_run() {
  return step(Stage::can_run,
              [&] { return kernel_.view.can_run(kernel_.self, &structs_.problem, text(), capacity()); });
}

bool KernelEntries::arithmetic(nbx_arithmetic& out) {
  out = {};
  out.struct_size = sizeof out;
  return step(Stage::arithmetic,
              [&] { return kernel_.view.arithmetic(kernel_.self, &structs_.problem, &out, text(), capacity()); });
}

bool KernelEntries::explain() {
  return step(Stage::explain, [&] {
    if (kernel_.view.explain == nullptr) return nbx_status{NBX_UNSUPPORTED};
    return kernel_.view.explain(kernel_.self, &structs_.problem, &structs_.launch, text(), capacity());
  });
}

bool KernelEntries::cost(Cost& out) {
  nbx_cost told{};
  const bool done = step(Stage::cost, [&] {
    if (kernel_.view.cost == nullptr) return nbx_status{NBX_UNSUPPORTED};
    return kernel_.view.cost(kernel_.self, &structs_.problem, &structs_.launch, &told, text(), capacity());
  });
  if (!done) return false;
  if (told.buffer_count > NBX_MOST_BUFFERS) return broken(fmt::format("it declares {} buffers", told.buffer_count));
  out = {{}, told.peak_bytes, told.returned_bytes, told.operations};
  for (std::uint32_t i = 0; i < told.buffer_count; ++i) {
    const nbx_buffer& buffer = told.buffers[i];
    if (buffer.name == nullptr) return broken(fmt::format("buffer {} of its cost has no name", i));
    out.buffers.push_back({clean(buffer.name), buffer.bytes, buffer.made, buffer.freed});
  }
  return true;
}

bool KernelEntries::workspace_bytes() {
  std::uint64_t first = 0, second = 0;
  const auto ask = [&](std::uint64_t& out) {
    return step(Stage::workspace_bytes, [&] {
      return kernel_.view.workspace_bytes(kernel_.self, &structs_.problem, &structs_.launch, &out, text(), capacity());
    });
  };
  if (!ask(first) || !ask(second)) return false;
  if (first != second) return broken(fmt::format("two equal queries gave {} and {} bytes", first, second));
  if (first > most_workspace) return broken(fmt::format("it asks for {} bytes, more than 64 GiB", first));
  outcome_.workspace_bytes = first;
  return true;
}

bool KernelEntries::check() {
  return step(Stage::check, [&] {
    return kernel_.view.check(kernel_.self, &structs_.problem, &structs_.launch, text(), capacity());
  });
}

bool KernelEntries::run(const nbx_memory* device) {
  const auto start = std::chrono::steady_clock::now();
  bool done = step(Stage::run, [&] {
    return kernel_.view.run(kernel_.self, &structs_.problem, &structs_.launch, text(), capacity());
  });
  if (device != nullptr) {
    // Also after a refusal: what it wrote all the same must have arrived before memory is compared.
    Outcome of_run = outcome_;
    if (step(Stage::synchronise, [&] { return device->synchronise(text(), capacity()); })) {
      outcome_ = std::move(of_run);
    } else {
      outcome_.kind = Outcome::Kind::crashed;
      done = false;
    }
  }
  outcome_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return done;
}

void KernelEntries::go_on() {
  outcome_ = {};
  outcome_.kind = Outcome::Kind::ran;
}

bool KernelEntries::broken(std::string why) {
  outcome_.kind = Outcome::Kind::broken;
  outcome_.message = std::move(why);
  return false;
}

template <class F>
bool KernelEntries::step(Stage stage, F entry) {
  outcome_.stage = name(stage);
  outcome_.message.clear();
  std::memset(message_.storage, 0, capacity());
  nbx_status status = NBX_INTERNAL;
  std::string escaped;
  note_.stage.store(stage);
  try {
    status = entry();
  } catch (const std::exception& error) {
    escaped = fmt::format("an exception escaped: {}", clean(error.what()));
  } catch (...) {
    escaped = "an exception of unknown type escaped";
  }
  note_.stage.store(Stage::harness);
  if (!escaped.empty()) return broken(std::move(escaped));
  outcome_.status = status;
  if (strnlen(text(), capacity()) == capacity()) return broken("its message has no NUL within the capacity");
  outcome_.message = clean(text());
  if (status == NBX_OK) return true;
  if (status < NBX_OK || status > NBX_INTERNAL)
    return broken(fmt::format("status {} is none of the interface's", status));
  outcome_.kind = Outcome::Kind::refused;
  return false;
}

}  // namespace nbx::contracts::sandbox
