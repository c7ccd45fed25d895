// Needs a GPU: an attention kernel of two packs on random problems, special values among them, bit for bit (every NaN
// counted as one value).
//
//   attention_twin CPU_PACK CUDA_PACK KERNEL PROBLEMS [SEED]
#include <dlfcn.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/pack/nbx_pack.h"

namespace {

using Shape = std::array<std::int64_t, 4>;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(3);
}

const nbx_pack& open(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) give_up(dlerror());
  const auto entry = reinterpret_cast<decltype(&nbx_pack_open)>(dlsym(library, "nbx_pack_open"));
  if (entry == nullptr) give_up(std::string(path) + " is no pack");
  char message[512] = "";
  const nbx_pack* const pack = entry(NBX_PACK_INTERFACE, message, sizeof message);
  if (pack == nullptr) give_up(message);
  return *pack;
}

const nbx_kernel& find(const nbx_pack& pack, const std::string& name) {
  for (std::size_t i = 0; i < pack.kernel_count; ++i) {
    if (pack.kernels[i]->name == name) return *pack.kernels[i];
  }
  give_up(std::string(pack.name) + " has no " + name);
}

/// A tensor of the problem: 16- or 32-bit elements.
struct Tensor {
  const char* name;
  nbx_role role;
  DLDataType type;
  std::vector<std::int64_t> shape, strides;
  std::vector<std::uint8_t> data;

  std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t size : shape) n *= size;
    return n;
  }
};

struct Problem {
  std::string text;
  std::vector<Tensor> tensors;
  std::vector<nbx_param> params;
};

std::uint16_t encoded(DLDataType type, float x) {
  if (type.code == kDLBfloat) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return static_cast<std::uint16_t>(bits >> 16);
  }
  const auto half = static_cast<_Float16>(x);
  std::uint16_t bits;
  std::memcpy(&bits, &half, 2);
  return bits;
}

class Draw {
 public:
  Draw(std::uint64_t seed, DLDataType type) : random_(seed), type_(type) {}

  Problem problem() {
    Problem out;
    const std::int64_t Hk = of({1, 1, 2}), group = of({1, 1, 2, 3}), B = of({1, 1, 2});
    const std::int64_t D = of({8, 16, 24, 64, 64, 72, 96, 128, 128, 128, 136, 20});
    const std::int64_t Dv = of({D, D, D, 8, 64, 128});
    const std::int64_t Tq = of({17, 40, 127, 128, 129, 200, 300}), Tk = of({1, 5, 63, 64, 65, 128, 190, 257, 400});
    const char* const causal = std::array{"none", "top_left", "bottom_right"}[below(3)];
    const char* const kind = std::array{"normal", "wide", "far", "special", "special", "tiny", "large"}[below(7)];
    const bool transposed = below(4) == 0, lse = below(4) != 0;
    const float scale = std::array{0.0F, 0.0F, 0.0F, 0.125F, -0.5F, 1e15F, 30.0F}[below(7)];
    add(out, "q", NBX_IN, {B, Hk * group, Tq, D}, transposed, kind);
    add(out, "k", NBX_IN, {B, Hk, Tk, D}, transposed, kind);
    add(out, "v", NBX_IN, {B, Hk, Tk, Dv}, transposed, kind);
    add(out, "o", NBX_OUT, {B, Hk * group, Tq, Dv}, transposed, kind);
    if (lse) {
      out.tensors.push_back({"lse", NBX_OUT, {kDLFloat, 32, 1}, {B, Hk * group, Tq}, {}, {}});
      out.tensors.back().strides = {Hk * group * Tq, Tq, 1};
      out.tensors.back().data.assign(static_cast<std::size_t>(out.tensors.back().count()) * 4, 0xAB);
    }
    out.params.push_back({"causal", NBX_TEXT, 0, 0, causal});
    if (scale != 0) out.params.push_back({"scale", NBX_REAL, 0, static_cast<double>(scale), nullptr});
    char text[256];
    std::snprintf(text, sizeof text, "B=%d,H=%d,Hk=%d,Tq=%d,Tk=%d,D=%d,Dv=%d,%s,%s,scale=%g%s%s", static_cast<int>(B),
                  static_cast<int>(Hk * group), static_cast<int>(Hk), static_cast<int>(Tq), static_cast<int>(Tk),
                  static_cast<int>(D), static_cast<int>(Dv), causal, kind, static_cast<double>(scale),
                  transposed ? ",[B,T,H,D]" : "", lse ? ",lse" : "");
    out.text = text;
    return out;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  std::int64_t of(std::initializer_list<std::int64_t> list) { return list.begin()[below(list.size())]; }

  void add(Problem& to, const char* name, nbx_role role, const Shape& shape, bool transposed, const char* kind) {
    const auto [B, H, T, D] = shape;
    Tensor tensor{name, role, type_, {B, H, T, D}, {H * T * D, T * D, D, 1}, {}};
    if (transposed) tensor.strides = {H * T * D, D, H * D, 1};
    const auto n = static_cast<std::size_t>(tensor.count());
    tensor.data.assign(n * 2, 0xAB);
    if (role == NBX_IN) {
      std::normal_distribution<float> normal;
      for (std::size_t i = 0; i < n; ++i) put(tensor, i, element(kind, name[0], normal(random_)));
      if (std::strcmp(kind, "special") == 0) {
        const std::array specials{NAN, INFINITY, -INFINITY};
        for (std::size_t plants = below(3); plants > 0; --plants) put(tensor, below(n), specials[below(3)]);
      }
    }
    to.tensors.push_back(std::move(tensor));
  }
  void put(Tensor& to, std::size_t at, float x) {
    const std::uint16_t bits = encoded(type_, x);
    std::memcpy(to.data.data() + 2 * at, &bits, 2);
  }
  float element(const char* kind, char name, float x) {
    if (std::strcmp(kind, "wide") == 0) return std::ldexp(x, static_cast<int>(below(24)) - 12);
    if (std::strcmp(kind, "far") == 0 && name != 'v') return std::ldexp(x, static_cast<int>(below(2)) * 12);
    if (std::strcmp(kind, "tiny") == 0)
      return std::ldexp(x, -static_cast<int>(below(type_.code == kDLBfloat ? 140 : 24)));
    if (std::strcmp(kind, "large") == 0) return std::ldexp(x, type_.code == kDLBfloat ? 120 : 14);
    return x;
  }

  std::mt19937_64 random_;
  DLDataType type_;
};

void require(nbx_status status, const char* what, const char* message) {
  if (status != NBX_OK) give_up(std::string(what) + ": " + message);
}

/// Runs it with the tensors in the pack's memory. False: declined.
bool run(const nbx_pack& pack, const nbx_kernel& kernel, Problem& given, std::int64_t block_rows) {
  const nbx_memory* const memory = pack.memory;
  const bool own = memory != nullptr && memory->allocate != nullptr;
  std::vector<nbx_tensor> tensors(given.tensors.size());
  std::vector<const nbx_tensor*> pointers;
  char message[512] = "";
  const auto take = [&](std::uint64_t bytes) {
    void* place = nullptr;
    if (own) {
      require(memory->allocate(bytes, 1, &place, message, sizeof message), "allocate", message);
    } else {
      place = std::aligned_alloc(256, (bytes + 511) / 256 * 256);
    }
    return place;
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Tensor& from = given.tensors[i];
    nbx_tensor& to = tensors[i];
    to = {sizeof(nbx_tensor), from.role, from.name, {}};
    to.tensor.data = take(from.data.size());
    to.tensor.device = pack.device;
    to.tensor.ndim = static_cast<std::int32_t>(from.shape.size());
    to.tensor.dtype = from.type;
    to.tensor.shape = from.shape.data();
    to.tensor.strides = from.strides.data();
    if (own) {
      require(memory->copy_in(to.tensor.data, from.data.data(), from.data.size()), "copy_in", "");
    } else {
      std::memcpy(to.tensor.data, from.data.data(), from.data.size());
    }
    pointers.push_back(&to);
  }
  nbx_problem problem{};
  problem.struct_size = sizeof problem;
  problem.family = kernel.family;
  problem.tensors = pointers.data();
  problem.tensor_count = pointers.size();
  problem.params = given.params.data();
  problem.param_count = given.params.size();
  problem.ranks = 1;
  const nbx_param option{"block_rows", NBX_INT, block_rows, 0, nullptr};
  nbx_launch launch{};
  launch.struct_size = sizeof launch;
  launch.options = &option;
  launch.option_count = block_rows == 0 ? 0 : 1;
  nbx_status status = kernel.check(&kernel, &problem, &launch, message, sizeof message);
  if (status == NBX_OK) {
    require(kernel.workspace_bytes(&kernel, &problem, &launch, &launch.workspace_bytes, message, sizeof message),
            "workspace_bytes", message);
    launch.workspace = take(launch.workspace_bytes);
    require(kernel.run(&kernel, &problem, &launch, message, sizeof message), "run", message);
    if (own) require(memory->synchronise(message, sizeof message), "synchronise", message);
  } else if (status != NBX_UNSUPPORTED) {
    give_up(given.text + ": " + message);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Tensor& to = given.tensors[i];
    void* const data = tensors[i].tensor.data;
    if (own) {
      require(memory->copy_out(to.data.data(), data, to.data.size()), "copy_out", "");
      memory->release(data);
    } else {
      std::memcpy(to.data.data(), data, to.data.size());
      std::free(data);
    }
  }
  if (launch.workspace != nullptr) own ? memory->release(launch.workspace) : std::free(launch.workspace);
  return status == NBX_OK;
}

/// The element's bits, every NaN as one.
std::uint32_t pattern(const Tensor& tensor, std::size_t at) {
  std::uint32_t bits = 0;
  const std::size_t bytes = tensor.type.bits / 8U;
  std::memcpy(&bits, tensor.data.data() + at * bytes, bytes);
  const std::uint32_t infinite =
      tensor.type.bits == 32 ? 0x7F800000U : (tensor.type.code == kDLBfloat ? 0x7F80U : 0x7C00U);
  const std::uint32_t sign = 1U << (tensor.type.bits - 1);
  return (bits & (sign - 1)) > infinite ? infinite + 1 : bits;
}

bool same(const Problem& a, const Problem& b, const char* what) {
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const Tensor &x = a.tensors[i], &y = b.tensors[i];
    std::int64_t different = 0, first = -1;
    for (std::int64_t at = 0; at < x.count(); ++at) {
      if (pattern(x, static_cast<std::size_t>(at)) == pattern(y, static_cast<std::size_t>(at))) continue;
      if (different++ == 0) first = at;
    }
    if (different == 0) continue;
    std::printf("DIFFER %s, %s: %s %lld of %lld, first %lld: %08x and %08x\n", a.text.c_str(), what, x.name,
                static_cast<long long>(different), static_cast<long long>(x.count()), static_cast<long long>(first),
                pattern(x, static_cast<std::size_t>(first)), pattern(y, static_cast<std::size_t>(first)));
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) give_up("attention_twin CPU_PACK CUDA_PACK KERNEL PROBLEMS [SEED]");
  const nbx_pack &host = open(argv[1]), &device = open(argv[2]);
  const nbx_kernel &on_host = find(host, argv[3]), &on_device = find(device, argv[3]);
  const long problems = std::atol(argv[4]);
  const std::uint64_t seed = argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 1;
  long compared = 0, different = 0, by_choice = 0;
  for (long i = 0; i < problems; ++i) {
    const Problem given = Draw(seed * 1'000'003 + static_cast<std::uint64_t>(i), on_host.format).problem();
    Problem expected = given;
    if (!run(host, on_host, expected, 0)) continue;
    for (const std::int64_t block_rows : {0, i % 2 == 0 ? 16 : 64}) {
      Problem actual = given;
      if (!run(device, on_device, actual, block_rows)) continue;
      ++compared;
      by_choice += block_rows == 0;
      different += !same(expected, actual, block_rows == 0 ? "own choice" : "block_rows");
    }
  }
  std::printf("%s: %ld comparisons, %ld by the kernel's own choice of tiles, %ld differ\n", argv[3], compared,
              by_choice, different);
  return compared == 0 ? 4 : (different == 0 ? 0 : 1);
}
