#include "oracle/rows_first.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "oracle/output.hpp"
#include "oracle/rows_first_parts.hpp"

namespace nbx::oracle {
namespace {

constexpr std::size_t o_output = 0;

/// Calls f with each stream and KV head.
template <class F>
void each_stream_head(const RowsFirstInput& input, const F& f) {
  std::map<std::int64_t, std::vector<std::int64_t>> rows;
  for (std::size_t r = 0; r < input.stream.size(); ++r) rows[input.stream[r]].push_back(static_cast<std::int64_t>(r));
  for (const auto& [stream, list] : rows) {
    for (std::int64_t h = 0; h < input.k.shape[1]; ++h) {
      const RowsOfHead part(input, stream, h, list, 0, input.k.shape[2]);
      f(part, part.attention());
    }
  }
}

void copy_output(const Evaluation::Output& from, const RowsOfHead& part, std::int64_t columns, Evaluation::Output& to) {
  for (std::int64_t i = 0; i < part.count(); ++i) {
    for (std::int64_t d = 0; d < columns; ++d) {
      const auto source = static_cast<std::size_t>(i * columns + d);
      const auto target = static_cast<std::size_t>(part.place(i) * columns + d);
      to.expected.value[target] = from.expected.value[source];
      to.expected.radius[target] = from.expected.radius[source];
      to.expected.classes[target] = from.expected.classes[source];
      for (std::size_t a = 0; a < to.bounds.size(); ++a) {
        to.bounds[a].bound[target] = from.bounds[a].bound[source];
        to.bounds[a].classes[target] = from.bounds[a].classes[source];
        to.bounds[a].open[target] = from.bounds[a].open[source];
      }
    }
  }
}

/// The part that holds (row, head), with the place of that row in it.
template <class F>
auto at_row(const RowsFirstInput& input, std::int64_t row, std::int64_t head, const F& f) {
  const std::int64_t group = input.q.shape[1] / input.k.shape[1];
  const RowsOfHead part(input, input.stream[static_cast<std::size_t>(row)], head / group, {row}, 0, input.k.shape[2]);
  return f(part.attention(), head % group);
}

}  // namespace

Evaluation evaluate(const RowsFirstInput& input, std::span<const Arithmetic> arithmetics) {
  const std::int64_t rows = input.q.shape[0], H = input.q.shape[1], D = input.q.shape[2];
  Evaluation out;
  out.outputs.push_back(make_output("o", {rows, H, D}, arithmetics.size()));
  out.outputs.push_back(make_output("pm", {rows, H, input.chunks}, arithmetics.size()));
  out.outputs.push_back(make_output("pl", {rows, H, input.chunks}, arithmetics.size()));
  out.outputs.push_back(make_output("po", {rows, H, input.chunks, D}, arithmetics.size()));
  each_stream_head(input, [&](const RowsOfHead& part, const AttentionInput& attention) {
    const Evaluation one = evaluate(attention, arithmetics);
    copy_output(one.outputs[0], part, D, out.outputs[o_output]);
    write_partials(input, part, arithmetics, out);
  });
  return out;
}

Refine refiner(const RowsFirstInput& input) {
  return [input](std::size_t output, std::int64_t element, int bits) {
    const std::int64_t H = input.q.shape[1], D = input.q.shape[2];
    if (output != o_output) return refine_partial(input, output, element, bits);
    const std::int64_t row = element / D / H, head = element / D % H;
    return at_row(input, row, head, [&](const AttentionInput& attention, std::int64_t member) {
      return refiner(attention)(0, member * D + element % D, bits);
    });
  };
}

BoundParts bound_parts(const RowsFirstInput& input, const Arithmetic& arithmetic, std::size_t output,
                       std::int64_t element) {
  if (output != o_output) return {};
  const std::int64_t H = input.q.shape[1], D = input.q.shape[2];
  return at_row(input, element / D / H, element / D % H, [&](const AttentionInput& attention, std::int64_t member) {
    return bound_parts(attention, arithmetic, 0, member * D + element % D);
  });
}

std::vector<std::vector<double>> mutate(const RowsFirstInput& input, Mutant mutant, std::uint64_t position) {
  if (mutant == Mutant::lse_without_max) return {};  // there is no LSE
  const std::int64_t rows = input.q.shape[0], H = input.q.shape[1], D = input.q.shape[2], Hk = input.k.shape[1];
  std::vector<double> o(static_cast<std::size_t>(rows * H * D));
  if (std::any_of(input.stream.begin(), input.stream.end(), [](std::int64_t stream) { return stream != 0; })) {
    throw std::invalid_argument("mutants of rows-first attention take one stream");
  }
  // One stream: all KV heads at once, so that heads can be taken for each other.
  std::vector<std::byte> q(input.q.bytes.size());
  const std::int64_t row_bytes = D * traits(input.q.format).bytes;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t h = 0; h < H; ++h) {
      std::copy_n(input.q.bytes.data() + (r * H + h) * row_bytes, row_bytes, q.data() + (h * rows + r) * row_bytes);
    }
  }
  const AttentionInput attention{
      .q = {.bytes = q, .format = input.q.format, .shape = {1, H, rows, D}},
      .k = {.bytes = input.k.bytes, .format = input.k.format, .shape = {1, Hk, input.k.shape[2], D}},
      .v = {.bytes = input.v.bytes, .format = input.v.format, .shape = {1, Hk, input.k.shape[2], D}},
      .bias = {},
      .causal = Causal::none,
      .scale = {},
      .lengths = input.limit};
  const std::vector<std::vector<double>> wrong = mutate(attention, mutant, position, {input.k_scale, input.v_scale});
  if (wrong.empty()) return {};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t h = 0; h < H; ++h) {
      std::copy_n(wrong[0].begin() + (h * rows + r) * D, D, o.begin() + (r * H + h) * D);
    }
  }
  return {std::move(o), {}, {}, {}};
}

std::vector<double> scores_of_row(const RowsFirstInput& input, std::int64_t row, std::int64_t head) {
  return at_row(input, row, head,
                [](const AttentionInput& attention, std::int64_t member) { return scores_of_row(attention, member); });
}

}  // namespace nbx::oracle
