#include "contracts/families/decode_ways.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "contracts/families/attention_ways.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

CallTensor lengths_tensor(std::span<const std::int64_t> lengths) {
  return input_tensor("seq_lens", int32_type, {static_cast<std::int64_t>(lengths.size())}, int32_bytes(lengths));
}

void set_lengths(Call& call, std::span<const std::int64_t> lengths) {
  std::erase_if(call.tensors, [](const CallTensor& tensor) { return tensor.name == "seq_lens"; });
  call.tensors.push_back(lengths_tensor(lengths));
}

/// Sequence b in a cache that holds its own keys and no more.
Way sequence_alone(const DecodeProblem& problem, const Call& call, std::int64_t b) {
  const std::int64_t length = decode_length(problem, b), capacity = std::max<std::int64_t>(length, 1);
  Way way{.name = fmt::format("sequence {} alone", b), .call = call};
  for (CallTensor& tensor : way.call.tensors) {
    Box box = whole(tensor.shape);
    const Shape shape = tensor.shape;
    if (tensor.name == "bias")
      box.back().second = std::min(box.back().second, capacity);
    else
      box[0] = {b, b + 1};
    if (tensor.name == "k" || tensor.name == "v") box[2].second = capacity;
    tensor = sliced(tensor, box);
    if (tensor.role != NBX_IN) way.base[tensor.name] = box_indices(shape, box);
  }
  return way;
}

/// The same sequences in a cache with room for more keys, in which large numbers lie.
Way larger_cache(const DecodeProblem& problem, const Call& call, std::int64_t more) {
  Way way{.name = fmt::format("a cache of {} more keys", more), .call = call};
  for (CallTensor& tensor : way.call.tensors) {
    if (tensor.role != NBX_IN) way.base[tensor.name] = box_indices(tensor.shape, whole(tensor.shape));
    if (tensor.name == "k" || tensor.name == "v")
      lengthen(tensor, 2, more, oracle::encode(*oracle_format(tensor.dtype), 1000));
  }
  std::vector<std::int64_t> lengths;
  for (std::int64_t b = 0; b < problem.base.B; ++b) lengths.push_back(decode_length(problem, b));
  set_lengths(way.call, lengths);
  return way;
}

}  // namespace

std::vector<Way> decode_ways(const DecodeProblem& problem, const DecodeData& data, const Call& call, bool full,
                             std::string_view clause) {
  const AttentionProblem& p = problem.base;
  std::vector<Way> ways;
  if (clause == "gate3.batch") {
    for (std::int64_t b = 0; p.B > 1 && b < p.B; ++b) ways.push_back(sequence_alone(problem, call, b));
    return ways;
  }
  // attention's ways know no lengths: they are taken out and put back.
  Call bare = call;
  std::erase_if(bare.tensors, [](const CallTensor& tensor) { return tensor.name == "seq_lens"; });
  ways = attention_ways({.problem = p, .call = bare, .full = full}, clause);
  if (!data.lengths.empty())
    for (Way& way : ways) {
      CallTensor lengths = lengths_tensor(data.lengths);
      if (clause == "gate3.view") lengths.strides = {3};
      way.call.tensors.push_back(std::move(lengths));
    }
  if (clause == "gate3.pad" && p.bias == BiasShape::none)
    for (const std::int64_t more : {37, 300}) ways.push_back(larger_cache(problem, call, more));
  if (clause == "gate3.pair" && problem.q_round) {
    Way way{.name = "Q cast beforehand", .call = call};
    *find_tensor(way.call, "q") = input_tensor("q", data.attention.format, data.attention.q_shape, data.attention.q);
    std::erase_if(way.call.params, [](const Param& param) { return param.name == "q_round"; });
    for (const CallTensor& tensor : way.call.tensors)
      if (tensor.role != NBX_IN) way.base[tensor.name] = box_indices(tensor.shape, whole(tensor.shape));
    ways.push_back(std::move(way));
  }
  return ways;
}

}  // namespace nbx::contracts
