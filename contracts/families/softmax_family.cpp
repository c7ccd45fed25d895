// Softmax and log-softmax as the contracts know them.
#include "contracts/families/softmax_family.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "contracts/dense.hpp"
#include "contracts/families/softmax_problems.hpp"
#include "contracts/formats.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t tile = 64;
constexpr double ln2 = 0.6931471805599453;

const char* kind_name(SoftmaxKind kind) {
  switch (kind) {
    case normal:
      return "normal";
    case uniform:
      return "uniform";
    case wide:
      return "wide";
    case sink:
      return "sink";
    case constant:
      return "constant";
    case powers:
      return "powers";
    case negative:
      return "negative";
    case far:
      return "far";
    case tiny:
      return "tiny";
    case largest:
      return "largest";
    case rising:
      return "rising";
    case marker:
      return "marker";
    case masked_row:
      return "masked_row";
    case some_masked:
      return "some_masked";
    case late:
      return "late";
    case steep:
      return "steep";
    case early:
      return "early";
    case nan_feature:
      return "nan";
    case inf_feature:
      return "inf";
  }
  return "?";
}

/// Feature j of n in row r, drawn from `random`.
double feature(SoftmaxKind kind, oracle::Format format, std::int64_t r, std::int64_t j, std::int64_t n,
               std::int64_t special, std::int64_t rows, Random& random) {
  switch (kind) {
    case normal:
      return random.normal();
    case uniform:
      return random.uniform(-1, 1);
    case wide:
      return random.sign() * std::ldexp(1 + random.unit(), static_cast<int>(random.below(27)) - 20);
    case sink:
      return random.normal() * 0.5 + (j == special ? 3.0 + 0.7 * std::ilogb(static_cast<double>(n)) : 0.0);
    case constant:
      return 0.75;
    case powers:
      return -ln2 * static_cast<double>(j % 20);
    case negative:
      return -20 + 0.25 * random.normal();
    case far:
      return static_cast<double>(random.below(5)) * -1500.0 + random.normal();
    case tiny: {
      const double scale[] = {0.0, -0.0, oracle::quantum(format), oracle::smallest_normal(format)};
      return random.sign() * scale[random.below(4)] * (1 + static_cast<double>(random.below(3)));
    }
    case largest: {
      const double top = oracle::largest_finite(format);
      const double values[] = {top, -top, top / 2, 0.5, -1.0};
      return values[random.below(r == 0 ? 5 : r == 1 ? 1 : 5)];
    }
    case rising:
      return 0.5 * static_cast<double>(j / tile) * std::min(1.0, 16.0 * tile / static_cast<double>(n)) +
             0.25 * random.normal();
    case marker: {
      // Weights: the sink 1, the last feature 1/16, and about 1 over one feature in each of the row's own tiles. A
      // tile is marked in one row alone, so that it is a part of the sum that a narrow output still shows.
      if (j == special) return 0;
      if (j == n - 1) return -4 * ln2;
      const std::int64_t t = j / tile, own = std::max<std::int64_t>(1, n / tile / rows);
      const auto place = static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(t)) % tile);
      const bool marked = j % tile == place && t % rows == r;
      return marked ? -ln2 * std::ilogb(static_cast<double>(own)) : -inf;
    }
    case masked_row:
      return r % 3 == 1 ? -inf : random.normal();
    case some_masked: {
      const double value = random.normal();
      return random.below(3) == 0 ? -inf : value;
    }
    case steep:
      return 200 * static_cast<double>(j / 4096) + random.normal();
    case late:
    case early: {
      const double value = random.normal();
      const std::int64_t place = kind == late ? n - 1 - j : j;
      return place < n / 64 ? value : -inf;
    }
    case nan_feature:
      return r == 2 && j == special ? nan : random.normal();
    case inf_feature:
      return r == 2 && j == special ? inf : random.normal();
  }
  return nan;
}

Shape shape_of(const SoftmaxProblem& problem) { return {problem.shape, problem.shape + problem.rank}; }

class SoftmaxInstance final : public Instance {
 public:
  SoftmaxInstance(const SoftmaxProblem& problem, bool log, DLDataType format, const std::string& name,
                  std::uint64_t seed)
      : shape_(shape_of(problem)), axis_(problem.axis < 0 ? problem.axis + problem.rank : problem.axis), log_(log) {
    const auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(count(shape_)) * (format.bits / 8));
    const oracle::Format number = *oracle_format(format);
    const std::int64_t n = features();
    for (std::int64_t r = 0; r < rows(); ++r) {
      Random random(seed, fmt::format("{}/x/{}", name, r));
      const std::int64_t special = random.below(n);
      for (std::int64_t j = 0; j < n; ++j)
        put_pattern(*bytes, format, element(r, j),
                    oracle::encode(number, feature(problem.kind, number, r, j, n, special, rows(), random)));
    }
    x_ = bytes;
    call_.family = log ? "log_softmax" : "softmax";
    call_.tensors = {input_tensor("x", format, shape_, x_), output_tensor("y", format, shape_)};
    call_.params = {int_param("axis", problem.axis)};
    std::vector<std::string> axes;
    for (int i = 0; i < problem.rank; ++i) axes.push_back(i == axis_ ? "feature" : fmt::format("axis {}", i));
    outputs_ = {{"y", format, shape_, axes}};
  }

  oracle::Evaluation evaluate(std::span<const oracle::Arithmetic> arithmetics) const override {
    return oracle::evaluate(input(), arithmetics);
  }
  oracle::Refine refiner() const override { return oracle::refiner(input()); }
  oracle::BoundParts parts(const oracle::Arithmetic& arithmetic, std::size_t output,
                           std::int64_t element) const override {
    return oracle::bound_parts(input(), arithmetic, output, element);
  }
  std::vector<std::vector<double>> mutate(oracle::Mutant mutant, std::uint64_t position) const override {
    return oracle::mutate(input(), mutant, position);
  }

  std::vector<Way> ways(std::string_view clause, bool full) const override {
    if (clause == "gate3.rows") return alone(full);
    if (clause == "gate3.view") return views();
    if (clause == "gate3.pad") return padded();
    return {};
  }

  std::vector<std::pair<std::string, std::string>> behind(std::size_t, std::int64_t index) const override {
    Shape at = coordinates(shape_, index);
    std::string row;
    constexpr std::int64_t shown = 12;
    const std::int64_t from = std::max<std::int64_t>(0, std::min(at[axis()] - shown / 2, features() - shown));
    const std::int64_t to = std::min(features(), from + shown);
    for (std::int64_t j = from; j < to; ++j) {
      at[axis()] = j;
      std::int64_t flat = 0;
      for (std::size_t i = 0; i < at.size(); ++i) flat += at[i] * dense_strides(shape_)[i];
      row += fmt::format(" {:.6g}", value_at(*x_, type(), flat));
    }
    return {{"x", fmt::format("features {}-{} of {}:{}", from, to - 1, features(), row)}};
  }

 private:
  std::size_t axis() const { return static_cast<std::size_t>(axis_); }
  DLDataType type() const { return outputs_[0].dtype; }
  std::int64_t features() const { return shape_[axis()]; }
  std::int64_t rows() const { return features() == 0 ? 0 : count(shape_) / features(); }
  std::int64_t inner() const { return dense_strides(shape_)[axis()]; }
  /// The flat index of feature j of row r, rows counted in row-major order of the other axes.
  std::int64_t element(std::int64_t r, std::int64_t j) const {
    return (r / inner()) * inner() * features() + j * inner() + r % inner();
  }
  oracle::SoftmaxInput input() const {
    return {.x = {.bytes = *x_, .format = *oracle_format(type()), .shape = shape_}, .axis = axis_, .log = log_};
  }

  Way boxed(std::string name, const Box& box) const {
    Way way{.name = std::move(name), .call = call_};
    for (CallTensor& tensor : way.call.tensors) tensor = sliced(tensor, box);
    way.base["y"] = box_indices(shape_, box);
    return way;
  }

  std::vector<Way> alone(bool full) const {
    std::vector<Way> ways;
    const std::int64_t most = full ? rows() : std::min<std::int64_t>(rows(), 12);
    if (rows() < 2) return ways;
    for (std::int64_t i = 0; i < most; ++i) {
      const std::int64_t r = i * rows() / most;
      const Shape at = coordinates(shape_, element(r, 0));
      Box box;
      for (std::size_t axis_i = 0; axis_i < shape_.size(); ++axis_i)
        box.emplace_back(axis_i == axis() ? 0 : at[axis_i], axis_i == axis() ? features() : at[axis_i] + 1);
      ways.push_back(boxed(fmt::format("row {} alone", r), box));
    }
    return ways;
  }

  std::vector<Way> views() const {
    const int rank = static_cast<int>(shape_.size());
    std::vector<int> forward, backward;
    for (int i = 0; i < rank; ++i) {
      forward.push_back(i);
      backward.push_back(rank - 1 - i);
    }
    std::vector<Way> ways;
    const auto add = [&](const char* name, const std::vector<int>& in, const std::vector<int>& out, std::int64_t gap,
                         std::int64_t offset, std::int64_t odd) {
      Way way = boxed(name, whole(shape_));
      lay_out(way.call.tensors[0], in, gap, offset, odd);
      lay_out(way.call.tensors[1], out, gap, offset, odd);
      ways.push_back(std::move(way));
    };
    add("rows 3 apart", forward, forward, 3, 0, 1);
    add("axes reversed", backward, backward, 0, 0, 1);
    add("x reversed, y dense, 5 elements in", backward, forward, 0, 5, 1);
    add("size-1 axes with stride 12345", forward, forward, 1, 1, 12345);
    return ways;
  }

  std::vector<Way> padded() const {
    std::vector<Way> ways;
    for (const std::int64_t more : {std::int64_t{1}, std::int64_t{67}}) {
      Shape wider = shape_;
      wider[axis()] += more;
      std::vector<std::int64_t> from(static_cast<std::size_t>(count(wider)), -1);
      for (std::size_t i = 0; i < from.size(); ++i) {
        const Shape at = coordinates(wider, static_cast<std::int64_t>(i));
        if (at[axis()] >= features()) continue;
        std::int64_t flat = 0;
        for (std::size_t a = 0; a < at.size(); ++a) flat += at[a] * dense_strides(shape_)[a];
        from[i] = flat;
      }
      Way way{.name = fmt::format("{} more features of -inf", more), .call = call_};
      const std::uint32_t minus_inf = oracle::encode(*oracle_format(type()), -inf);
      way.call.tensors[0] = input_tensor("x", type(), wider, take(*x_, type().bits / 8, from, minus_inf));
      way.call.tensors[1] = output_tensor("y", type(), wider);
      way.base["y"] = std::move(from);
      ways.push_back(std::move(way));
    }
    return ways;
  }

  Shape shape_;
  int axis_;
  bool log_;
  SharedBytes x_;
};

class SoftmaxFamily final : public Family {
 public:
  explicit SoftmaxFamily(bool log) : log_(log) {
    for (const SoftmaxProblem& p : softmax_problems) {
      ProblemInfo info;
      info.kind = kind_name(p.kind);
      info.name = fmt::format("shape={},axis={},{}", fmt::join(shape_of(p), "x"), p.axis, info.kind);
      info.tier = p.tier;
      info.equality = p.equality;
      info.size_class = p.size_class;
      info.work = count(shape_of(p)) * 8;  // an exp is worth several multiply-adds
      problems_.push_back(std::move(info));
    }
  }

  std::string_view name() const override { return log_ ? "log_softmax" : "softmax"; }
  std::span<const ProblemInfo> problems() const override { return problems_; }
  std::unique_ptr<Instance> make(std::size_t problem, DLDataType format, std::uint64_t seed) const override {
    return std::make_unique<SoftmaxInstance>(softmax_problems[problem], log_, format, problems_[problem].name, seed);
  }
  std::span<const std::string_view> optional_outputs() const override { return {}; }

  std::vector<Refusal> refusals(DLDataType format, std::uint64_t) const override {
    std::vector<Refusal> out;
    const auto add = [&](const char* clause, std::string name, const char* argument, std::string value, Call call) {
      out.push_back({clause, std::move(name), argument, std::move(value), std::move(call)});
    };
    for (const std::int64_t axis : {2, -3}) {
      Call call = plain({4, 8}, format);
      call.params = {int_param("axis", axis)};
      add("gate4.axis", fmt::format("rank=2,axis={}", axis), "axis", fmt::format("{}", axis), call);
    }
    add("gate4.axis", "shape=4x0,axis=-1", "axis", "0", plain({4, 0}, format));
    {
      Call call = plain({4, 8}, format);
      call.tensors[1] = output_tensor("y", format, {4, 7});
      add("gate4.shape", "x=4x8,y=4x7", "y", "7", call);
      call.tensors[1] = output_tensor("y", format, {4, 8, 1});
      add("gate4.shape", "x=4x8,y=4x8x1", "y", "3", call);
      call.tensors[1] = output_tensor("y", int32_type, {4, 8});
      add("gate4.format", "y=int32", "y", "int32", call);
      call = plain({4, 8}, format);
      call.tensors.pop_back();
      add("gate4.missing", "no y", "y", "missing", call);
      call = plain({4, 8}, format);
      call.tensors.push_back(input_tensor("mask", format, {4, 8}, call.tensors[0].data));
      add("gate4.unknown", "tensor=mask", "mask", "mask", call);
      call = plain({4, 8}, format);
      call.params.push_back(real_param("temperature", 0.5));
      add("gate4.unknown", "parameter=temperature", "temperature", "temperature", call);
    }
    return out;
  }

  std::vector<Edge> edges(DLDataType format, std::uint64_t) const override {
    std::vector<Edge> out;
    out.push_back({"gate4.empty", "shape=0x8", plain({0, 8}, format), std::nullopt, {Bytes{}}});
    Call huge = plain({3, 64}, format);
    for (CallTensor& tensor : huge.tensors) tensor.strides = {(std::int64_t{1} << 30) + 7, 1};
    out.push_back({"gate4.offsets", "shape=3x64,stride=2^30+7", huge, plain({3, 64}, format), {}});
    return out;
  }

 private:
  Call plain(const Shape& shape, DLDataType format) const {
    Call call;
    call.family = name();
    const auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(count(shape)) * (format.bits / 8));
    Random random(1, "softmax edges");
    for (std::int64_t i = 0; i < count(shape); ++i)
      put_pattern(*bytes, format, i, oracle::encode(*oracle_format(format), random.normal()));
    call.tensors = {input_tensor("x", format, shape, bytes), output_tensor("y", format, shape)};
    call.params = {int_param("axis", -1)};
    return call;
  }

  bool log_;
  std::vector<ProblemInfo> problems_;
};

}  // namespace

const Family& softmax_family() {
  static const SoftmaxFamily family(false);
  return family;
}
const Family& log_softmax_family() {
  static const SoftmaxFamily family(true);
  return family;
}

}  // namespace nbx::contracts
