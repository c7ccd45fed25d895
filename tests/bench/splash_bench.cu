// What the fixed shift saves: splash attention uniform, hybrid and online on one device in one run, by CUDA events; the
// metadata and the dispatch apart. Prints milliseconds (the least of the repetitions) and their ratio to online.
//
//   nvcc -std=c++20 -O3 --fmad=false -arch=sm_90 -I. -o splash_bench -x cu tests/bench/splash_bench.cu
//     kernels/splash/problem.cpp kernels/pack/problem.cpp kernels/pack/require.cpp kernels/pack/refusal.cpp
//   ./splash_bench [keys 75600] [queries 75600] [head dim 128] [block_q 240] [repetitions 3]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/splash/kernel.hpp"

namespace {

using namespace nbx;
using bf16 = tile::bf16;

void require(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

/// Device memory with its description.
struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape, strides;
  nbx_tensor view{};

  Tensor(std::string called, nbx_role role, DLDataType type, std::vector<std::int64_t> sizes)
      : name(std::move(called)), shape(std::move(sizes)), strides(shape.size()) {
    std::int64_t count = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      strides[axis] = count;
      count *= shape[axis];
    }
    void* memory = nullptr;
    require(cudaMalloc(&memory, static_cast<std::size_t>(count) * (type.bits / 8U)), name.c_str());
    view.struct_size = sizeof view;
    view.role = role;
    view.name = name.c_str();
    view.tensor = {memory, {kDLCUDA, 0}, static_cast<std::int32_t>(shape.size()), type, shape.data(), strides.data(),
                   0};
  }
  ~Tensor() { cudaFree(view.tensor.data); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  void randomise(std::uint64_t seed, float spread) {
    std::mt19937_64 engine(seed);
    std::normal_distribution<float> normal(0, spread);
    std::vector<bf16> host(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
    for (bf16& x : host) x = tile::encode<bf16>(normal(engine));
    require(cudaMemcpy(view.tensor.data, host.data(), host.size() * sizeof(bf16), cudaMemcpyHostToDevice), "copy");
  }
};

template <class Kernel>
class Timed {
 public:
  Timed(std::vector<const nbx_tensor*> tensors, std::int64_t block_q)
      : tensors_(std::move(tensors)), params_{{"block_q", NBX_INT, block_q, 0, nullptr}} {
    problem_.struct_size = sizeof problem_;
    problem_.family = Kernel::family;
    problem_.tensors = tensors_.data(), problem_.tensor_count = tensors_.size();
    problem_.params = params_, problem_.param_count = 1;
    problem_.ranks = 1;
    how_.struct_size = sizeof how_;
    how_.workspace_bytes = Kernel::workspace_bytes(problem_, nullptr);
    if (how_.workspace_bytes > 0) require(cudaMalloc(&how_.workspace, how_.workspace_bytes), "workspace");
  }
  ~Timed() { cudaFree(how_.workspace); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

  float milliseconds() {
    cudaEvent_t begin = nullptr, end = nullptr;
    require(cudaEventCreate(&begin), "event");
    require(cudaEventCreate(&end), "event");
    require(cudaEventRecord(begin), "event");
    Kernel::run(problem_, how_);
    require(cudaEventRecord(end), "event");
    require(cudaEventSynchronize(end), "the run");
    float out = 0;
    require(cudaEventElapsedTime(&out, begin, end), "event");
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return out;
  }

 private:
  std::vector<const nbx_tensor*> tensors_;
  nbx_param params_[1];
  nbx_problem problem_{};
  nbx_launch how_{};
};

int run(const std::vector<std::int64_t>& words) {
  const std::int64_t keys = words[0], queries = words[1], D = words[2], block_q = words[3], blocks = queries / block_q;
  constexpr DLDataType half{kDLBfloat, 16, 1}, single{kDLFloat, 32, 1};
  Tensor q("q", NBX_IN, half, {1, 1, queries, D}), k("k", NBX_IN, half, {1, 1, keys, D}),
      v("v", NBX_IN, half, {1, 1, keys, D}), o("o", NBX_OUT, half, {1, 1, queries, D});
  Tensor mk_out("mk", NBX_OUT, single, {1, 2, 1, blocks}), mean_out("k_mean", NBX_OUT, single, {1, 1, D});
  q.randomise(1, 1.44F);
  k.randomise(2, 0.09F);
  v.randomise(3, 1);
  nbx_tensor mk = mk_out.view, mean = mean_out.view;  // made once, then given
  mk.role = mean.role = NBX_IN;

  Timed<splash::MetadataKernel<bf16>> metadata({&q.view, &k.view, &v.view, &mk_out.view, &mean_out.view}, block_q);
  Timed<splash::OnlineKernel<bf16>> online({&q.view, &k.view, &v.view, &o.view}, block_q);
  Timed<splash::HybridKernel<bf16>> hybrid({&q.view, &k.view, &v.view, &mk, &mean, &o.view}, block_q);
  Timed<splash::UniformKernel<bf16>> uniform({&q.view, &k.view, &v.view, &mk, &mean, &o.view}, block_q);
  Timed<splash::DispatchKernel<bf16>> dispatch({&q.view, &k.view, &v.view, &o.view}, block_q);
  metadata.milliseconds();
  std::vector<float> flags(static_cast<std::size_t>(2 * blocks));
  require(cudaMemcpy(flags.data(), mk_out.view.tensor.data, flags.size() * sizeof(float), cudaMemcpyDeviceToHost),
          "copy");
  const auto fixed = std::count(flags.begin() + blocks, flags.end(), 1.0F);

  cudaDeviceProp device{};
  require(cudaGetDeviceProperties(&device, 0), "device");
  std::printf("%s: %lld keys, %lld queries, D %lld, bf16, one head, blocks of %lld: %lld of %lld fixed\n", device.name,
              static_cast<long long>(keys), static_cast<long long>(queries), static_cast<long long>(D),
              static_cast<long long>(block_q), static_cast<long long>(fixed), static_cast<long long>(blocks));
  std::map<std::string, float> best;
  const auto time = [&](const char* name, float milliseconds) {
    const auto [at, fresh] = best.emplace(name, milliseconds);
    if (!fresh) at->second = std::min(at->second, milliseconds);
  };
  for (std::int64_t i = 0; i <= words[4]; ++i) {  // the first of all warms up
    if (i == 1) best.clear();
    time("online", online.milliseconds());
    time("hybrid", hybrid.milliseconds());
    time("uniform", uniform.milliseconds());
    time("dispatch", dispatch.milliseconds());
    time("metadata", metadata.milliseconds());
  }
  for (const char* name : {"online", "hybrid", "uniform", "metadata", "dispatch"}) {
    std::printf("%-9s %10.3f ms   %.4f of online\n", name, static_cast<double>(best[name]),
                static_cast<double>(best[name] / best["online"]));
  }
  std::printf("dispatch holds metadata, the choice, the chosen attention and a launch that returns at once\n");
  return 0;
}

}  // namespace

int main(int count, char** given) {
  std::vector<std::int64_t> words{75600, 75600, 128, 240, 3};
  for (int i = 1; i < count && i <= 5; ++i) words[static_cast<std::size_t>(i - 1)] = std::atoll(given[i]);
  for (const std::int64_t word : words) {
    if (word < 1 || words[1] % words[3] != 0) {
      std::fprintf(stderr, "splash_bench: positive numbers, queries a multiple of block_q\n");
      return 2;
    }
  }
  try {
    return run(words);
  } catch (const pack::Refusal& refusal) {
    std::fprintf(stderr, "splash_bench: %s\n", refusal.message.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "splash_bench: %s\n", error.what());
  }
  return 1;
}
