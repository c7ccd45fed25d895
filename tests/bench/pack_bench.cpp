// pack_bench: the time that one kernel of a pack on a GPU takes for one problem, by CUDA events, as a line of JSON.
//
//   pack_bench PACK KERNEL [--heads 32 --keys 8192 …] [--option name=value …]
//
// Inputs are random finite values. Before each launch 256 MB are written, so that no cache holds an input; launches
// before the timed ones are not counted. streaming_bench.py runs it once for each arm of a comparison.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/pack/nbx_pack.h"

namespace {

constexpr std::size_t flush_bytes = 256U << 20;
constexpr DLDataType i32{kDLInt, 32, 1}, f32{kDLFloat, 32, 1}, bf16{kDLBfloat, 16, 1};

void require(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

void* device_memory(std::size_t bytes) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
  return memory;
}

/// `count` random finite elements of at most 2 in magnitude, on the device.
void* random_elements(DLDataType type, std::size_t count, unsigned seed) {
  const std::size_t size = type.bits / 8U;
  std::vector<unsigned char> block(std::min<std::size_t>(count, std::size_t{4} << 20) * size);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < block.size() / size; ++i) {
    const float x = std::clamp(normal(random), -2.0F, 2.0F);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    if (type.code == kDLBfloat) bits >>= 16;
    if (type.code == kDLFloat && type.bits == 16) bits = __half_as_ushort(__float2half(x));
    if (type.bits == 8) bits = (random() & 0x80U) | random() % 0x40U;  // e4m3 below 2
    std::memcpy(block.data() + i * size, &bits, size);
  }
  auto* const memory = static_cast<unsigned char*>(device_memory(count * size));
  for (std::size_t at = 0; at < count * size; at += block.size()) {
    const std::size_t bytes = std::min(block.size(), count * size - at);
    require(cudaMemcpy(memory + at, block.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  return memory;
}

void* table(const std::vector<std::int32_t>& entries) {
  void* const memory = device_memory(entries.size() * sizeof entries[0]);
  require(cudaMemcpy(memory, entries.data(), entries.size() * sizeof entries[0], cudaMemcpyHostToDevice), "cudaMemcpy");
  return memory;
}

/// A problem under construction. Its tensors are dense.
class Call {
 public:
  explicit Call(const DLDevice& device) : device_(device) {}

  void input(const char* name, DLDataType type, std::vector<std::int64_t> shape) {
    const std::size_t count = elements(shape);
    add(name, NBX_IN, type, std::move(shape), random_elements(type, count, 1 + static_cast<unsigned>(tensors_.size())));
  }
  void input(const char* name, const std::vector<std::int32_t>& entries, std::vector<std::int64_t> shape) {
    add(name, NBX_IN, i32, std::move(shape), table(entries));
  }
  void output(const char* name, DLDataType type, std::vector<std::int64_t> shape) {
    const std::size_t bytes = elements(shape) * type.bits / 8U;
    add(name, NBX_OUT, type, std::move(shape), device_memory(bytes));
  }
  void parameter(const char* name, std::int64_t value) { params_.push_back({name, NBX_INT, value, 0.0, nullptr}); }
  void parameter(const char* name, const char* text) { params_.push_back({name, NBX_TEXT, 0, 0.0, text}); }

  nbx_problem problem(const char* family) {
    pointers_.clear();
    for (const nbx_tensor& tensor : tensors_) pointers_.push_back(&tensor);
    return {
        sizeof(nbx_problem), family, pointers_.data(), pointers_.size(), params_.data(), params_.size(), 0, 1, nullptr};
  }

 private:
  static std::size_t elements(const std::vector<std::int64_t>& shape) {
    return static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<std::int64_t>()));
  }
  void add(const char* name, nbx_role role, DLDataType type, std::vector<std::int64_t> shape, void* memory) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    numbers_.push_back(std::move(shape));
    std::vector<std::int64_t>& kept = numbers_.back();
    numbers_.push_back(std::move(strides));
    nbx_tensor tensor{sizeof(nbx_tensor), role, name, {}};
    tensor.tensor = {memory, device_, static_cast<std::int32_t>(kept.size()), type, kept.data(), numbers_.back().data(),
                     0};
    tensors_.push_back(tensor);
  }

  DLDevice device_;
  std::deque<std::vector<std::int64_t>> numbers_;
  std::deque<nbx_tensor> tensors_;
  std::vector<const nbx_tensor*> pointers_;
  std::vector<nbx_param> params_;
};

struct Sizes {
  std::int64_t batch = 1, heads = 32, kv_heads = 8, queries = 1, keys = 8192, head_dim = 128, rows = 16;
  std::int64_t page_tokens = 64;
  std::string causal = "none";
};

/// Fills `call` for the kernel's family, and returns the bytes of keys and values that one row's sequence has.
std::size_t fill(Call& call, const nbx_kernel& kernel, const Sizes& n) {
  const std::string family = kernel.family;
  const std::size_t element = kernel.format.bits / 8U;
  const auto cache_bytes = [&](std::int64_t sequences) {
    return 2 * static_cast<std::size_t>(sequences * n.kv_heads * n.keys * n.head_dim) * element;
  };
  if (family == "attention" || family == "decode") {
    call.input("q", kernel.format, {n.batch, n.heads, n.queries, n.head_dim});
    call.input("k", kernel.format, {n.batch, n.kv_heads, n.keys, n.head_dim});
    call.input("v", kernel.format, {n.batch, n.kv_heads, n.keys, n.head_dim});
    call.output("o", kernel.format, {n.batch, n.heads, n.queries, n.head_dim});
    call.parameter("causal", n.causal.c_str());
    return cache_bytes(n.batch);
  }
  if (family == "paged_decode") {
    const std::int64_t width = (n.keys + n.page_tokens - 1) / n.page_tokens, pages = n.batch * width;
    std::vector<std::int32_t> order(static_cast<std::size_t>(pages));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(7));
    call.input("q", kernel.format, {n.batch, n.heads, 1, n.head_dim});
    call.input("k_pool", kernel.format, {pages, n.kv_heads, n.page_tokens, n.head_dim});
    call.input("v_pool", kernel.format, {pages, n.kv_heads, n.page_tokens, n.head_dim});
    call.input("block_table", order, {n.batch, width});
    call.input("seq_lens",
               std::vector<std::int32_t>(static_cast<std::size_t>(n.batch), static_cast<std::int32_t>(n.keys)),
               {n.batch});
    call.output("o", kernel.format, {n.batch, n.heads, 1, n.head_dim});
    call.parameter("max_seq_len", n.keys);
    return cache_bytes(n.batch);
  }
  if (family == "q35") {
    // One stream, whose last `rows` positions are verified: row r sees all keys up to its own.
    std::vector<std::int32_t> limits(static_cast<std::size_t>(n.rows));
    for (std::int64_t r = 0; r < n.rows; ++r) {
      limits[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(n.keys - n.rows + 1 + r);
    }
    const std::int64_t width = n.keys <= 8192 ? 128 : 128 * ((n.keys + 8191) / 8192);
    call.input("q", bf16, {n.rows, n.heads, n.head_dim});
    call.input("k", kernel.format, {1, n.kv_heads, n.keys, n.head_dim});
    call.input("v", kernel.format, {1, n.kv_heads, n.keys, n.head_dim});
    if (kernel.format.bits == 8) {
      call.input("k_scale", f32, {n.kv_heads});
      call.input("v_scale", f32, {n.kv_heads});
    }
    call.input("stream", std::vector<std::int32_t>(limits.size(), 0), {n.rows});
    call.input("limit", limits, {n.rows});
    call.output("o", bf16, {n.rows, n.heads, n.head_dim});
    call.parameter("chunks", std::min<std::int64_t>(64, (n.keys + width - 1) / width));
    return cache_bytes(1);
  }
  throw std::runtime_error("family " + family + " has no inputs here");
}

const nbx_pack& open_pack(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto open = reinterpret_cast<decltype(&nbx_pack_open)>(dlsym(library, "nbx_pack_open"));
  if (open == nullptr) throw std::runtime_error(file + " exports no nbx_pack_open");
  char message[1024] = {};
  const nbx_pack* const pack = open(NBX_PACK_INTERFACE, message, sizeof message);
  if (pack == nullptr) throw std::runtime_error(file + ": " + message);
  if (pack->device.device_type != kDLCUDA) throw std::runtime_error(file + " is no pack for a GPU");
  return *pack;
}

const nbx_kernel& find(const nbx_pack& pack, const std::string& name) {
  for (std::size_t i = 0; i < pack.kernel_count; ++i) {
    if (name == pack.kernels[i]->name) return *pack.kernels[i];
  }
  throw std::runtime_error("the pack has no kernel " + name);
}

}  // namespace

int main(int argc, char** argv) try {
  std::string file, name;
  Sizes sizes;
  std::vector<std::string> given;
  int rounds = 21, warm_up = 3;
  CLI::App app("Times one kernel of a GPU pack");
  app.add_option("pack", file, "shared library")->required();
  app.add_option("kernel", name, "name of the kernel")->required();
  app.add_option("--batch", sizes.batch);
  app.add_option("--heads", sizes.heads);
  app.add_option("--kv-heads", sizes.kv_heads);
  app.add_option("--queries", sizes.queries);
  app.add_option("--keys", sizes.keys);
  app.add_option("--head-dim", sizes.head_dim);
  app.add_option("--rows", sizes.rows, "of q35");
  app.add_option("--causal", sizes.causal);
  app.add_option("--option", given, "of the launch, name=value");
  app.add_option("--rounds", rounds, "timed launches");
  app.add_option("--warm-up", warm_up, "launches before them");
  CLI11_PARSE(app, argc, argv);

  const nbx_pack& pack = open_pack(file);
  const nbx_kernel& kernel = find(pack, name);
  Call call(pack.device);
  const std::size_t cache_bytes = fill(call, kernel, sizes);
  const nbx_problem problem = call.problem(kernel.family);
  std::vector<nbx_param> options;
  for (std::string& text : given) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) throw std::runtime_error("--option " + text + ": name=value is expected");
    text[equals] = '\0';
    options.push_back({text.c_str(), NBX_INT, std::stoll(text.substr(equals + 1)), 0.0, nullptr});
  }
  nbx_launch launch{};
  launch.struct_size = sizeof launch;
  launch.options = options.data(), launch.option_count = options.size();

  char message[2048] = {};
  const auto passed = [&](nbx_status status, const char* what) {
    if (status != NBX_OK) throw std::runtime_error(name + ", " + what + ": " + message);
  };
  passed(kernel.can_run(&kernel, &problem, message, sizeof message), "can_run");
  std::uint64_t workspace = 0;
  passed(kernel.workspace_bytes(&kernel, &problem, &launch, &workspace, message, sizeof message), "workspace");
  launch.workspace = device_memory(workspace), launch.workspace_bytes = workspace;
  passed(kernel.check(&kernel, &problem, &launch, message, sizeof message), "check");

  void* const flushed = device_memory(flush_bytes);
  cudaEvent_t begin{}, end{};
  require(cudaEventCreate(&begin), "cudaEventCreate");
  require(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<float> times;
  for (int i = -warm_up; i < rounds; ++i) {
    require(cudaMemsetAsync(flushed, i & 0xFF, flush_bytes), "cudaMemsetAsync");
    require(cudaEventRecord(begin), "cudaEventRecord");
    passed(kernel.run(&kernel, &problem, &launch, message, sizeof message), "run");
    require(cudaEventRecord(end), "cudaEventRecord");
    require(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0.0F;
    require(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    if (i >= 0) times.push_back(milliseconds);
  }
  std::sort(times.begin(), times.end());
  if (times.empty()) throw std::runtime_error("no round was timed");
  const nlohmann::json line{{"kernel", name},
                            {"median_ms", times[times.size() / 2]},
                            {"least_ms", times.front()},
                            {"most_ms", times.back()},
                            {"rounds", times.size()},
                            {"cache_bytes", cache_bytes},
                            {"device", pack.device_name},
                            {"toolchain", pack.toolchain}};
  std::puts(line.dump().c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "pack_bench: %s\n", error.what());
  return 1;
}
