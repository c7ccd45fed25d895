#include "contracts/families/paged_ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "contracts/families/call_edits.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

Way same_outputs(std::string name, const Call& call) {
  Way way{.name = std::move(name), .call = call};
  for (const CallTensor& tensor : call.tensors)
    if (tensor.role != NBX_IN) way.base[tensor.name] = box_indices(tensor.shape, whole(tensor.shape));
  return way;
}

/// Sequence b with its own table and no stranger. It says its own length as the longest.
Way sequence_alone(const PagedData& data, const Call& call, std::int64_t b) {
  Way way{.name = fmt::format("sequence {} alone", b), .call = call};
  for (CallTensor& tensor : way.call.tensors) {
    if (tensor.name == "k_pool" || tensor.name == "v_pool") continue;
    const Shape shape = tensor.shape;
    Box box = whole(shape);
    box[0] = {b, b + 1};
    tensor = sliced(tensor, box);
    if (tensor.role != NBX_IN) way.base[tensor.name] = box_indices(shape, box);
  }
  edit::set(int_param("max_seq_len", data.lengths[static_cast<std::size_t>(b)]))(way.call);
  return way;
}

/// Page p lies at to[p] of `pages`.
Way moved(std::string name, const PagedData& data, const Call& call, const std::vector<std::int64_t>& to,
          std::int64_t pages) {
  Way way = same_outputs(std::move(name), call);
  for (const char* pool : {"k_pool", "v_pool"}) {
    CallTensor& tensor = *find_tensor(way.call, pool);
    tensor.data = moved_pages(*tensor.data, tensor.shape, tensor.dtype, to, pages, -1000);
    tensor.shape[0] = pages;
  }
  std::vector<std::int64_t> table = data.table;
  for (std::int64_t& page : table)
    if (page >= 0 && page < static_cast<std::int64_t>(to.size())) page = to[static_cast<std::size_t>(page)];
  find_tensor(way.call, "block_table")->data = int32_bytes(table);
  return way;
}

/// Each sequence twice, on the same pages.
Way twins(const PagedData& data, const Call& call) {
  Way way{.name = "each sequence twice, on the same pages", .call = call};
  const auto twice = [](std::vector<std::int64_t> values) {
    const std::vector<std::int64_t> copy = values;
    values.insert(values.end(), copy.begin(), copy.end());
    return values;
  };
  for (CallTensor& tensor : way.call.tensors) {
    if (tensor.name == "k_pool" || tensor.name == "v_pool") continue;
    tensor.shape[0] *= 2;
    if (tensor.role != NBX_IN) {
      std::vector<std::int64_t> all(static_cast<std::size_t>(count(tensor.shape) / 2));
      std::iota(all.begin(), all.end(), 0);
      way.base[tensor.name] = twice(std::move(all));
    } else if (tensor.name == "q") {
      auto bytes = std::make_shared<Bytes>(*tensor.data);
      bytes->insert(bytes->end(), tensor.data->begin(), tensor.data->end());
      tensor.data = bytes;
    }
  }
  find_tensor(way.call, "block_table")->data = int32_bytes(twice(data.table));
  find_tensor(way.call, "seq_lens")->data = int32_bytes(twice(data.lengths));
  return way;
}

std::vector<Way> views(const Call& call) {
  std::vector<Way> ways;
  const auto add = [&](const char* name, auto&& change) {
    Way way = same_outputs(name, call);
    for (CallTensor& tensor : way.call.tensors) change(tensor);
    ways.push_back(std::move(way));
  };
  const auto natural = [](const CallTensor& tensor) {
    std::vector<int> order(tensor.shape.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
  };
  add("[pages, tokens, heads, D] storage", [&](CallTensor& tensor) {
    std::vector<int> order = natural(tensor);
    if (order.size() == 4) std::swap(order[1], order[2]);
    lay_out(tensor, order, 0, 0, 1);
  });
  add("rows 8 apart, 4 elements in", [&](CallTensor& tensor) { lay_out(tensor, natural(tensor), 8, 4, 1); });
  add("pools transposed in storage", [&](CallTensor& tensor) {
    std::vector<int> order = natural(tensor);
    if (tensor.name == "k_pool" || tensor.name == "v_pool") std::swap(order[2], order[3]);
    if (tensor.name == "block_table") std::swap(order[0], order[1]);
    lay_out(tensor, order, 0, 0, 1);
  });
  add("size-1 axes with stride 98765", [&](CallTensor& tensor) { lay_out(tensor, natural(tensor), 0, 0, 98765); });
  return ways;
}

}  // namespace

std::vector<Way> paged_ways(const PagedProblem& problem, const PagedData& data, const Call& call,
                            std::string_view clause) {
  std::vector<Way> ways;
  if (clause == "gate3.batch")
    for (std::int64_t b = 0; problem.base.B > 1 && b < problem.base.B; ++b)
      ways.push_back(sequence_alone(data, call, b));
  if (clause == "gate3.view") ways = views(call);
  if (clause == "gate3.pages") {
    const std::int64_t pages = data.k_shape[0];
    std::vector<std::int64_t> to(static_cast<std::size_t>(pages));
    for (std::int64_t p = 0; p < pages; ++p) to[static_cast<std::size_t>(p)] = pages - 1 - p;
    ways.push_back(moved("pages in reverse", data, call, to, pages));
    for (std::int64_t p = 0; p < pages; ++p) to[static_cast<std::size_t>(p)] = 2 * ((p * 7 + 3) % pages) + 1;
    if (pages % 7 != 0) ways.push_back(moved("every second page of a larger pool", data, call, to, 2 * pages));
    ways.push_back(twins(data, call));
  }
  return ways;
}

}  // namespace nbx::contracts
