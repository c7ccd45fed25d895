#include "tests/kernels/ring/device_call.hpp"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <map>
#include <stdexcept>
#include <vector>

namespace nbx::test {
namespace {

using Text = std::array<char, 1024>;

/// Memory of the device, 0xFF throughout.
class Block {
 public:
  Block(const nbx_memory& memory, std::uint64_t bytes) : memory_(memory), bytes_(bytes) {
    Text words{};
    if (memory.allocate(bytes, 0, &at_, words.data(), words.size()) != NBX_OK) throw std::runtime_error(words.data());
    const std::vector<std::byte> poison(bytes, std::byte{0xFF});
    copied(memory.copy_in(at_, poison.data(), bytes));
  }
  ~Block() {
    if (at_ != nullptr) memory_.release(at_);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void* at() const { return at_; }
  std::uint64_t bytes() const { return bytes_; }
  void fill(const void* host) { copied(memory_.copy_in(at_, host, bytes_)); }
  void read(void* host) const { copied(memory_.copy_out(host, at_, bytes_)); }

 private:
  static void copied(nbx_status status) {
    if (status != NBX_OK) throw std::runtime_error("a copy to or from the device failed");
  }

  const nbx_memory& memory_;
  std::uint64_t bytes_;
  void* at_ = nullptr;
};

const nbx_kernel& kernel_of(const nbx_pack& pack, const std::string& name) {
  for (std::size_t i = 0; i < pack.kernel_count; ++i) {
    if (name == pack.kernels[i]->name) return *pack.kernels[i];
  }
  throw std::runtime_error("no kernel " + name);
}

}  // namespace

const nbx_pack& device_pack(const std::string& file) {
  static std::map<std::string, const nbx_pack*> packs;
  const nbx_pack*& pack = packs[file];
  if (pack != nullptr) return *pack;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto open = reinterpret_cast<decltype(&nbx_pack_open)>(dlsym(library, "nbx_pack_open"));
  Text words{};
  if (open != nullptr) pack = open(NBX_PACK_INTERFACE, words.data(), words.size());
  if (pack == nullptr) throw std::runtime_error(file + ": " + words.data());
  return *pack;
}

void run_on_device(const nbx_pack& pack, PackCall& call, void* stream, const std::function<nbx_status()>& wait) {
  const nbx_kernel& kernel = kernel_of(pack, call.kernel->name);
  Text words{};
  const auto must = [&](nbx_status status) {
    if (status != NBX_OK)
      throw std::runtime_error(std::string(kernel.name) + ": status " + std::to_string(status) + ": " + words.data());
  };

  std::deque<Block> memory;
  std::vector<nbx_tensor> tensors;
  for (Array& array : call.arrays) {
    nbx_tensor tensor = *array.tensor();
    const auto bytes = static_cast<std::uint64_t>(array.elements()) * (tensor.tensor.dtype.bits / 8U);
    memory.emplace_back(*pack.memory, bytes).fill(tensor.tensor.data);
    tensor.tensor.data = memory.back().at();
    tensor.tensor.device = pack.device;
    tensors.push_back(tensor);
  }
  std::vector<const nbx_tensor*> pointers;
  for (const nbx_tensor& tensor : tensors) pointers.push_back(&tensor);
  nbx_problem problem{};
  problem.struct_size = sizeof problem;
  problem.family = kernel.family;
  problem.tensors = pointers.data(), problem.tensor_count = pointers.size();
  problem.params = call.params.data(), problem.param_count = call.params.size();
  problem.rank = call.rank, problem.ranks = call.ranks, problem.communicator = call.communicator;

  nbx_launch launch{};
  launch.struct_size = sizeof launch;
  launch.stream = stream;
  must(kernel.can_run(&kernel, &problem, words.data(), words.size()));
  std::uint64_t bytes = 0;
  must(kernel.workspace_bytes(&kernel, &problem, &launch, &bytes, words.data(), words.size()));
  const Block& workspace = memory.emplace_back(*pack.memory, bytes);
  launch.workspace = workspace.at(), launch.workspace_bytes = workspace.bytes();
  must(kernel.check(&kernel, &problem, &launch, words.data(), words.size()));
  must(pack.memory->synchronise(words.data(), words.size()));  // copies are not in the order of `stream`
  must(kernel.run(&kernel, &problem, &launch, words.data(), words.size()));
  if (wait() != NBX_OK) throw std::runtime_error(std::string(kernel.name) + ": not done");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].role != NBX_IN) memory[i].read(call.arrays[i].tensor()->tensor.data);
  }
}

}  // namespace nbx::test
