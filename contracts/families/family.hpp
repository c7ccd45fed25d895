// What a family of kernels is to the contracts: its problems, their inputs and reference, the ways to ask for the same
// thing, and the calls that must be refused. Clauses know families through this alone.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contracts/call.hpp"
#include "contracts/child/executor.hpp"
#include "contracts/runner.hpp"
#include "oracle/mutant.hpp"
#include "oracle/reference.hpp"

namespace nbx::contracts {

struct OutputInfo {
  std::string name;
  DLDataType dtype{};
  std::vector<std::int64_t> shape;
  std::vector<std::string> axes;  // their names, for the spatial pattern: "batch", "head", "row", "column"
};

/// Another way of asking for (part of) the same thing. base[output][i] is the element of the plain call's output that
/// element i of this call's output must equal bit for bit; -1 where it has no counterpart.
struct Way {
  std::string name;
  Call call;
  std::map<std::string, std::vector<std::int64_t>> base{};
};

/// A call that breaks a documented precondition.
struct Refusal {
  std::string clause;    // "gate4.heads"
  std::string name;      // as the case prints it: "H=3,Hk=2"
  std::string argument;  // what the message must name
  std::string value;     // and which value it must show
  Call call;
  bool in_table = false;  // the fault lies in what a table of the device holds: `check` alone reads that
};

/// A call with empty or huge tensors: right or refused, never wrong.
struct Edge {
  std::string clause;  // "gate4.empty", "gate4.offsets"
  std::string name;
  Call call;
  std::optional<Call> plain;    // whose output bits are the right ones, else:
  std::vector<Bytes> expected;  // the right bytes, one per output
};

/// Which kernel a call must be routed to, and the call that this kernel alone would get.
struct Routed {
  std::string text;    // how the explanation starts: "chunked(32)"
  std::string kernel;  // "chunked.simt.f16"; its bits are the right ones
  Call call;
};

/// What a clause of the family's own found in one run's outputs: lines that tell a red, or those that `explain` tells.
struct OwnVerdict {
  bool asked = false;
  std::vector<std::pair<std::string, std::string>> wrong{}, detail{};
};

/// A problem with its inputs made: one format, one seed.
class Instance {
 public:
  virtual ~Instance() = default;
  /// The plain call: dense tensors, every output of the family, no kernel yet.
  const Call& call() const { return call_; }
  const std::vector<OutputInfo>& outputs() const { return outputs_; }

  virtual oracle::Evaluation evaluate(std::span<const oracle::Arithmetic> arithmetics) const = 0;
  virtual oracle::Refine refiner() const = 0;
  virtual oracle::BoundParts parts(const oracle::Arithmetic& arithmetic, std::size_t output,
                                   std::int64_t element) const = 0;
  virtual std::vector<std::vector<double>> mutate(oracle::Mutant mutant, std::uint64_t position) const = 0;
  /// The ways of an equality clause, none where the problem gives it nothing to ask. `full`: all of them.
  virtual std::vector<Way> ways(std::string_view clause, bool full) const = 0;
  /// The routes that are right, the first whose kernel the pack has; none where nothing is routed.
  virtual std::vector<Routed> routes() const { return {}; }
  /// A clause that only this family has, asked of one run's outputs (as Outcome has them).
  virtual OwnVerdict own(std::string_view clause, const Call& call, const std::vector<Bytes>& outputs) const {
    (void)clause, (void)call, (void)outputs;
    return {};
  }
  /// The plain call asked of a kernel of another family, whose bits a kernel promises; nothing where it has none.
  virtual std::optional<Call> call_as(std::string_view family) const {
    return family == call_.family ? std::optional(call_) : std::nullopt;
  }
  /// What `explain` tells of the inputs behind one element: label and text.
  virtual std::vector<std::pair<std::string, std::string>> behind(std::size_t output, std::int64_t element) const = 0;

 protected:
  Call call_;
  std::vector<OutputInfo> outputs_;
};

struct ProblemInfo {
  std::string name;  // "B=1,H=4,Hk=2,Tq=130,Tk=257,D=64,causal=top_left,sink"
  std::string kind;  // input kind and plant, for --quick: one of each
  Tier tier = Tier::standard;
  bool equality = false;        // gates 2 and 3 run on it
  std::int64_t size_class = 0;  // of the power clause, in keys or features; 0: not one of its problems
  std::int64_t work = 0;        // multiply-adds
};

class Family {
 public:
  virtual ~Family() = default;
  virtual std::string_view name() const = 0;
  virtual std::span<const ProblemInfo> problems() const = 0;
  virtual std::unique_ptr<Instance> make(std::size_t problem, DLDataType format, std::uint64_t seed) const = 0;
  virtual std::vector<Refusal> refusals(DLDataType format, std::uint64_t seed) const = 0;
  virtual std::vector<Edge> edges(DLDataType format, std::uint64_t seed) const = 0;
  /// Tensors that only some kernels give, or take.
  virtual std::span<const std::string_view> optional_outputs() const = 0;
  /// The format of the main output of a kernel of `format`.
  virtual DLDataType output_format(DLDataType format) const { return format; }
};

std::span<const Family* const> families();
const Family* family_named(std::string_view name);

/// `call` for `kernel`: named, and without the optional outputs that the kernel does not give.
Call call_for(const Family& family, const KernelInfo& kernel, const Call& call);

}  // namespace nbx::contracts
