#include "contracts/child/rank_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace nbx::contracts::sandbox {
namespace {

bool is_output(const CallTensor& tensor) { return tensor.role != NBX_IN; }
bool has_content(const CallTensor& tensor) { return tensor.role == NBX_IN || tensor.role == NBX_INOUT; }
bool is_sharded(const Call& call, std::size_t tensor) { return call.ranks > 1 && call.tensors[tensor].shard_axis >= 0; }

}  // namespace

Call call_of_rank(const Call& call, int rank) {
  Call out = call;
  out.rank = rank;
  if (call.ranks == 1) return out;
  for (CallTensor& tensor : out.tensors) {
    if (tensor.shard_axis < 0) {
      if (is_output(tensor)) throw std::invalid_argument(fmt::format("tensor {}: an output of no rank", tensor.name));
      continue;
    }
    std::int64_t& size = tensor.shape.at(static_cast<std::size_t>(tensor.shard_axis));
    if (size % call.ranks != 0)
      throw std::invalid_argument(
          fmt::format("tensor {}: {} does not divide by {} ranks", tensor.name, size, call.ranks));
    size /= call.ranks;
  }
  return out;
}

RankRun::RankRun(const Call& whole, int rank, std::vector<std::byte*> dense, const LoadedPack& pack,
                 const LoadedKernel& kernel, Note& note, const Block& message)
    : whole_(whole),
      call_(call_of_rank(whole, rank)),
      rank_(rank),
      dense_(std::move(dense)),
      shard_(whole.tensors.size()),
      structs_(call_, pack.device()),
      kernel_(kernel),
      entries_(kernel, structs_, note, message, outcome_) {}

void RankRun::copy_shard(std::size_t i, bool back) {
  const CallTensor& tensor = whole_.tensors[i];
  const auto axis = static_cast<std::size_t>(tensor.shard_axis);
  std::size_t outer = 1, inner = tensor.dtype.bits / 8U;
  for (std::size_t a = 0; a < axis; ++a) outer *= static_cast<std::size_t>(tensor.shape[a]);
  for (std::size_t a = axis + 1; a < tensor.shape.size(); ++a) inner *= static_cast<std::size_t>(tensor.shape[a]);
  const std::size_t own = static_cast<std::size_t>(call_.tensors[i].shape[axis]) * inner;
  for (std::size_t o = 0; o < outer; ++o) {
    std::byte* const all =
        dense_[i] + o * static_cast<std::size_t>(tensor.shape[axis]) * inner + static_cast<std::size_t>(rank_) * own;
    std::byte* const one = shard_[i].data() + o * own;
    if (own != 0) std::memcpy(back ? all : one, back ? one : all, own);
  }
}

void RankRun::place(Memory& memory, const nbx_communicator* communicator) {
  structs_.problem.communicator = communicator;
  for (std::size_t i = 0; i < call_.tensors.size(); ++i) {
    const CallTensor& tensor = call_.tensors[i];
    if (is_sharded(whole_, i)) {
      shard_[i].resize(static_cast<std::size_t>(TensorLayout(tensor).dense_bytes()));
      if (has_content(tensor)) copy_shard(i, false);
    }
    std::byte* const data = is_sharded(whole_, i) ? shard_[i].data() : dense_[i];
    tensors_.push_back(
        std::make_unique<Placement>(tensor, has_content(tensor) ? data : nullptr, kernel_.view.alignment, memory));
    tensors_.back()->prepare(call_.poison);
    structs_.place(i, *tensors_.back());
  }
  workspace_.emplace(static_cast<std::int64_t>(outcome_.workspace_bytes), memory);
  workspace_->prepare(call_.poison);
  structs_.launch.workspace = call_.tracked ? nullptr : workspace_->address();
  structs_.launch.workspace_bytes = call_.tracked ? 0 : outcome_.workspace_bytes;
  allocator_.emplace(memory, call_.poison, call_.refused);
  if (call_.tracked) structs_.launch.allocator = allocator_->entries();
}

std::vector<Zone> RankRun::zones() const {
  std::vector<Zone> out;
  for (const auto& tensor : tensors_) out.push_back(tensor->zone());
  out.push_back(workspace_->zone());
  return out;
}

void RankRun::gather() {
  allocator_->finish(outcome_);
  workspace_->fetch();
  workspace_->find_faults(outcome_.faults);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    tensors_[i]->fetch();
    if (is_output(call_.tensors[i])) {
      outcome_.wrote_nothing = outcome_.wrote_nothing && tensors_[i]->untouched();
      tensors_[i]->gather(is_sharded(whole_, i) ? shard_[i].data() : dense_[i]);
      if (is_sharded(whole_, i)) copy_shard(i, true);
    }
    tensors_[i]->find_faults(outcome_.faults);
  }
}

void join_outcomes(std::vector<Outcome*> ranks, Outcome& whole) {
  // A rank that gives up since another is gone says NBX_INTERNAL: who stumbled first tells more.
  const auto tells = [](const Outcome& one) {
    return one.kind == Outcome::Kind::ran                                     ? 0
           : one.kind == Outcome::Kind::refused && one.status == NBX_INTERNAL ? 1
                                                                              : 2;
  };
  const auto worst = std::max_element(ranks.begin(), ranks.end(),
                                      [&](const Outcome* a, const Outcome* b) { return tells(*a) < tells(*b); });
  Outcome out = std::move(**worst);
  if (ranks.size() > 1 && out.kind != Outcome::Kind::ran)
    out.message = fmt::format("rank {}: {}", worst - ranks.begin(), out.message);
  for (Outcome* const one : ranks) {
    if (one == *worst) continue;
    out.faults.insert(out.faults.end(), one->faults.begin(), one->faults.end());
    out.wrote_nothing = out.wrote_nothing && one->wrote_nothing;
    out.workspace_bytes = std::max(out.workspace_bytes, one->workspace_bytes);
    out.seconds = std::max(out.seconds, one->seconds);
  }
  whole = std::move(out);
}

}  // namespace nbx::contracts::sandbox
