#include "tests/kernels/ring/ring_bits.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace nbx::test {
namespace {

constexpr DLDataType f32{kDLFloat, 32, 1};

}  // namespace

std::string name_of(const RingCase& one) {
  std::string name = std::string(one.kernel) + " spread " + std::to_string(static_cast<int>(one.spread));
  if (one.first_block) name += " in each first block";
  return name + ", Tk " + std::to_string(one.sizes.Tk);
}

PackCall ring_call(const RingCase& one, int rank, int ranks) {
  const auto& [B, H, Hk, Tq, Tk, D, block_q] = one.sizes;
  PackCall call(one.kernel);
  const DLDataType type = call.kernel->format;
  const auto seed = static_cast<std::uint64_t>(100 + 10 * rank);
  call.rank = rank, call.ranks = ranks;
  Array& q = call.add({"q", NBX_IN, type, {B, H, Tq, D}});
  q.randomise(seed, one.spread);
  for (std::int64_t i = 0; one.first_block && i < q.elements(); ++i)
    if (i / D % Tq >= block_q) q.set(i, q.get(i) / one.spread);
  Array& k = call.add({"k", NBX_IN, type, {B, Hk, Tk, D}});
  k.randomise(seed + 1, 0.2F);
  call.add({"v", NBX_IN, type, {B, Hk, Tk, D}}).randomise(seed + 2);
  call.integer("block_q", block_q);
  if (std::string(one.kernel).find("online") == std::string::npos) {
    Array norms({"k_norm2", NBX_IN, f32, {1, B, Hk}});
    for (std::int64_t head = 0; head < B * Hk; ++head) {
      double largest = 0;
      for (std::int64_t j = 0; j < Tk; ++j) {
        double sum = 0;
        for (std::int64_t d = 0; d < D; ++d) sum += std::pow(k.get((head * Tk + j) * D + d), 2);
        largest = std::fmax(largest, sum);
      }
      norms.set(head, std::nextafter(static_cast<float>(largest), std::numeric_limits<float>::infinity()));
    }
    call.add(norms);
    call.add({"v_ok", NBX_IN, f32, {1, B, Hk}}).fill(1);
    call.text("norms", "squared");
    call.add({"uniform_made", NBX_OUT, f32, {1}});
  }
  call.add({"o", NBX_OUT, type, {B, H, Tq, D}});
  return call;
}

std::vector<std::uint32_t> ring_outputs(const PackCall& call) {
  std::vector<std::uint32_t> out;
  for (const Array& array : call.arrays) {
    if (array.name() != "o" && array.name() != "uniform_made") continue;
    const std::vector<std::uint32_t> bits = array.all_bits();
    out.insert(out.end(), bits.begin(), bits.end());
  }
  return out;
}

std::vector<std::uint32_t> ring_bits(const RingCase& one, int rank, int ranks, const nbx_communicator* communicator) {
  PackCall call = ring_call(one, rank, ranks);
  call.communicator = communicator;
  if (call.run() != NBX_OK) throw std::runtime_error(std::string(one.kernel) + ": " + call.message);
  return ring_outputs(call);
}

std::uint64_t ring_hash(const RingCase& one, int rank, int ranks, const nbx_communicator* communicator) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (const std::uint32_t bits : ring_bits(one, rank, ranks, communicator)) hash = (hash ^ bits) * 0x100000001B3U;
  return hash;
}

}  // namespace nbx::test
