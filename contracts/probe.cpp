#include "contracts/probe.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "contracts/child/executor.hpp"
#include "contracts/dense.hpp"
#include "contracts/formats.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts {
namespace {

constexpr std::size_t shown_deviations = 20;

struct Shape3 {
  const char* kernel;
  std::int64_t M, N, K;
  int chain = 1;  // instructions along K, each the addend of the next

  std::string name() const { return chain == 1 ? kernel : fmt::format("{} x {}", kernel, chain); }
};
constexpr Shape3 instructions[] = {
    {"m16n8k16.mma.f16", 16, 8, 16},    {"m16n8k16.mma.bf16", 16, 8, 16}, {"m16n8k8.mma.tf32", 16, 8, 8},
    {"m16n8k32.mma.e4m3", 16, 8, 32},   {"m8n8k4.mma.f16", 8, 8, 4},      {"m64n8k16.wgmma.f16", 64, 8, 16},
    {"m64n8k16.wgmma.bf16", 64, 8, 16}, {"m64n8k8.wgmma.tf32", 64, 8, 8}, {"m64n8k32.wgmma.e4m3", 64, 8, 32}};
constexpr int kinds = 6;
constexpr std::int64_t least_elements = 128;  // of a tile that counts as one

/// Patterns of operands and addends of all tiles, dense.
struct Inputs {
  DLDataType type{};
  std::vector<std::uint32_t> a, b, c;
};

std::uint32_t pattern_of(double x, DLDataType type) { return oracle::encode(*oracle_format(type), x); }

double wide(Random& random, int least, int most) {
  return std::ldexp(random.uniform(1, 2) * random.sign(), least + static_cast<int>(random.below(most - least + 1)));
}

/// Row times column of element `e` of tile `t`, in double.
double dot_of(const Shape3& shape, const Inputs& in, std::int64_t t, std::int64_t e) {
  const oracle::Format format = *oracle_format(in.type);
  const auto at = [&](const std::vector<std::uint32_t>& patterns, std::int64_t place) {
    return oracle::decode(format, patterns[static_cast<std::size_t>(place)]);
  };
  double sum = 0;
  for (std::int64_t k = 0; k < shape.K; ++k) {
    sum += at(in.a, (t * shape.M + e / shape.N) * shape.K + k) * at(in.b, (t * shape.K + k) * shape.N + e % shape.N);
  }
  return sum;
}

/// The kinds in turn, tile by tile.
Inputs make_inputs(const Shape3& shape, DLDataType type, std::uint64_t seed, std::int64_t tiles) {
  Random random(seed, shape.name());
  Inputs out;
  out.type = type;
  const oracle::FormatTraits& traits = oracle::traits(*oracle_format(type));
  const std::uint32_t mask = type.bits == 32 ? ~0U : (1U << type.bits) - 1U;
  // Exponents of wide operands: the whole range where products stay finite for the most part.
  const int least = std::max(traits.emin - traits.precision + 1, -75), most = std::min(traits.emax, 62);
  for (std::int64_t t = 0; t < tiles; ++t) {
    const int kind = static_cast<int>(t % kinds);
    const auto operand = [&](std::int64_t k) -> std::uint32_t {
      switch (kind) {
        case 0:
          return pattern_of(random.normal(), type);
        case 1:
          return pattern_of(wide(random, least, most), type);
        case 2:  // cancels against its neighbour in k
          return pattern_of((k % 2 ? -1 : 1) * (1 + random.unit() * 0x1p-6), type);
        case 3:
          return static_cast<std::uint32_t>(random.bits()) & mask;
        case 4:  // cancels against the addend
          return pattern_of(std::ldexp(random.normal(), static_cast<int>(random.below(5)) - 2), type);
        default: {  // corners: powers of two, the ends of the range, zeros of both signs
          const double corner[] = {
              0.0, -0.0, 1.0, -1.0, std::ldexp(1, traits.emin), std::ldexp(-1, least), 0.5, -0.25, std::ldexp(1, most)};
          return pattern_of(corner[random.below(9)], type);
        }
      }
    };
    for (std::int64_t i = 0; i < shape.M * shape.K; ++i) out.a.push_back(operand(i % shape.K));
    for (std::int64_t i = 0; i < shape.K * shape.N; ++i)
      out.b.push_back(kind == 2 ? pattern_of(1 + random.unit() * 0x1p-6, type) : operand(0));
    for (std::int64_t i = 0; i < shape.M * shape.N; ++i) {
      const double addends[] = {random.normal(), wide(random, -149, 100), std::ldexp(random.normal(), -20)};
      const double corner[] = {0.0, -0.0, 0x1p-149, -0x1p-149, 0x1p23, -0x1p23, 0x1.fffffep127, 1.0, -1.0};
      out.c.push_back(kind < 3    ? pattern_of(addends[kind], f32_type)
                      : kind == 3 ? static_cast<std::uint32_t>(random.bits())
                      : kind == 4 ? pattern_of(-dot_of(shape, out, t, i) * (1 + random.normal() * 0x1p-12), f32_type)
                                  : pattern_of(corner[random.below(9)], f32_type));
    }
  }
  return out;
}

SharedBytes packed(const std::vector<std::uint32_t>& patterns, DLDataType type) {
  const std::size_t size = type.bits / 8U;
  auto bytes = std::make_shared<Bytes>(patterns.size() * size);
  for (std::size_t i = 0; i < patterns.size(); ++i) std::memcpy(bytes->data() + i * size, &patterns[i], size);
  return bytes;
}

Call make_call(const Shape3& shape, const Inputs& in, std::int64_t tiles) {
  Call call;
  call.kernel = shape.kernel;
  call.family = "matrix_unit";
  call.tensors = {input_tensor("a", in.type, {tiles, shape.M, shape.K}, packed(in.a, in.type)),
                  input_tensor("b", in.type, {tiles, shape.K, shape.N}, packed(in.b, in.type)),
                  input_tensor("c", f32_type, {tiles, shape.M, shape.N}, packed(in.c, f32_type)),
                  output_tensor("d", f32_type, {tiles, shape.M, shape.N})};
  return call;
}

/// One element as test data: kernel, architecture, the row of A, the column of B, the addend, what the device gave.
std::string line_of(const Shape3& shape, const std::string& architecture, const Inputs& in, std::int64_t element,
                    std::uint32_t device) {
  const std::int64_t tile = element / (shape.M * shape.N), i = element / shape.N % shape.M, j = element % shape.N;
  const int digits = in.type.bits / 4;
  std::string line = fmt::format("{} {} a", shape.kernel, architecture);
  for (std::int64_t k = 0; k < shape.K; ++k) {
    line += fmt::format(" {:0{}x}", in.a[static_cast<std::size_t>((tile * shape.M + i) * shape.K + k)], digits);
  }
  line += " b";
  for (std::int64_t k = 0; k < shape.K; ++k) {
    line += fmt::format(" {:0{}x}", in.b[static_cast<std::size_t>((tile * shape.K + k) * shape.N + j)], digits);
  }
  return line + fmt::format(" c {:08x} d {:08x}", in.c[static_cast<std::size_t>(element)], device);
}

ProbedUnit compare(const Shape3& shape, const std::string& architecture, const Inputs& in, const Bytes& device,
                   const Bytes& model) {
  ProbedUnit out{shape.name(), static_cast<std::int64_t>(in.c.size()), 0, {}, {}};
  for (std::int64_t e = 0; e < out.elements; ++e) {
    const std::uint32_t x = pattern_at(device, f32_type, e), y = pattern_at(model, f32_type, e);
    if (same_value(x, y, f32_type)) continue;
    ++out.deviations;
    if (out.lines.size() < shown_deviations) out.lines.push_back(line_of(shape, architecture, in, e, x));
  }
  return out;
}

struct OpenPack {
  Executor& executor;
  const PackInfo& info;

  const KernelInfo* named(const char* name) const {
    for (const KernelInfo& kernel : info.kernels) {
      if (kernel.name == name) return &kernel;
    }
    return nullptr;
  }
};

void probe_shape(const Shape3& shape, const OpenPack& device, const OpenPack& model, std::uint64_t seed,
                 std::int64_t tiles, Probe& out) {
  const KernelInfo* const kernel = device.named(shape.kernel);
  if (kernel == nullptr || model.named(shape.kernel) == nullptr) {
    out.errors.push_back(fmt::format("{}: one of the packs lacks it", shape.kernel));
    return;
  }
  tiles = std::max(std::int64_t{1}, tiles * least_elements / std::max(least_elements, shape.M * shape.N));
  const Inputs in = make_inputs(shape, kernel->format, seed, tiles);
  const Call call = make_call(shape, in, tiles);
  const Outcome on_device = device.executor.execute(call);
  if (on_device.kind == Outcome::Kind::refused && on_device.status == NBX_UNSUPPORTED) {
    out.units.push_back({shape.name(), 0, 0, on_device.message, {}});
    return;
  }
  const Outcome on_model = model.executor.execute(call);
  bool ran = true;
  for (const Outcome* one : {&on_device, &on_model}) {
    if (one->kind == Outcome::Kind::ran) continue;
    out.errors.push_back(
        fmt::format("{} {}: {}", shape.name(), one == &on_device ? "on the device" : "as a model", one->message));
    ran = false;
  }
  if (ran) out.units.push_back(compare(shape, out.architecture, in, on_device.outputs.at(0), on_model.outputs.at(0)));
}

}  // namespace

Probe probe(const std::filesystem::path& device_pack, const std::filesystem::path& model_pack, std::uint64_t seed,
            std::int64_t tiles) {
  Probe out;
  if (!std::filesystem::exists(device_pack)) {
    out.no_device = fmt::format("{} was not built (no nvcc, or NBX_CUDA=OFF)", device_pack.filename().string());
    return out;
  }
  const Executor::Options options{.timeout = std::chrono::seconds(60)};
  Executor device(device_pack, options);
  PackError error;
  const auto info = device.open(&error);
  if (!info) {
    out.no_device = error.reason;
    return out;
  }
  out.device = info->device_name;
  out.architecture = info->imitates;
  // The child that holds the models reads it when it starts.
  setenv("NBX_IMITATES", info->imitates.c_str(), 1);
  Executor model(model_pack, options);
  const auto models = model.open(&error);
  if (!models) {
    out.errors.push_back(fmt::format("the models: {}", error.reason));
    return out;
  }
  for (const Shape3& one : instructions) {
    for (const int chain : {1, 4}) {
      Shape3 shape = one;
      shape.chain = chain;
      shape.K *= chain;
      probe_shape(shape, {device, *info}, {model, *models}, seed, tiles, out);
    }
  }
  return out;
}

}  // namespace nbx::contracts
