// Calling a kernel of the CPU pack from a test: tensors by name, values as float.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "kernels/pack/nbx_pack.h"

namespace nbx::test {

/// The CPU pack of this build, loaded once.
const nbx_pack& cpu_pack();
const nbx_kernel& kernel(const std::string& name);

using Shape = std::vector<std::int64_t>;
std::int64_t count(const Shape& shape);

/// A tensor with its storage. Values are dense and row-major to the test, whatever the strides.
class Array {
 public:
  Array(std::string name, nbx_role role, DLDataType type, Shape shape, Shape strides = {});

  void set(std::int64_t element, float value);
  /// Of an integer array: all its elements.
  void set_integers(const std::vector<std::int32_t>& values);
  float get(std::int64_t element) const;
  std::uint32_t bits(std::int64_t element) const;
  void fill(float value);
  void randomise(std::uint64_t seed, float spread = 1);

  const std::string& name() const { return name_; }
  std::int64_t elements() const { return count(shape_); }
  std::vector<std::uint32_t> all_bits() const;
  const nbx_tensor* tensor();
  DLTensor& dl() { return tensor_.tensor; }

 private:
  std::size_t place(std::int64_t element) const;
  std::string name_;
  nbx_role role_;
  Shape shape_, strides_;
  std::vector<std::byte> storage_;
  nbx_tensor tensor_{};
};

/// One call. Arrays stay where they are; run() may be called again with other conditions.
struct PackCall {
  const nbx_kernel* kernel;
  std::deque<Array> arrays;
  std::vector<nbx_param> params;
  std::vector<nbx_param> options;
  nbx_launch launch{};
  std::int32_t rank = 0, ranks = 1;  // of a ring
  const nbx_communicator* communicator = nullptr;
  std::string message;

  explicit PackCall(const std::string& name);
  Array& add(Array array) { return arrays.emplace_back(std::move(array)); }
  Array& operator[](const std::string& name);
  void integer(const char* name, std::int64_t value) { params.push_back({name, NBX_INT, value, 0, nullptr}); }
  void real(const char* name, double value) { params.push_back({name, NBX_REAL, 0, value, nullptr}); }
  void text(const char* name, const char* value) { params.push_back({name, NBX_TEXT, 0, 0, value}); }
  void option(const char* name, std::int64_t value) { options = {{name, NBX_INT, value, 0, nullptr}}; }

  nbx_status can_run();
  nbx_status check();
  nbx_status run();  // can_run, workspace_bytes, check and run; the first status that is not NBX_OK
  nbx_status run_unchecked();
  std::uint64_t workspace_bytes();
  nbx_arithmetic arithmetic();

 private:
  nbx_problem problem();
  void prepare();
  std::vector<const nbx_tensor*> tensors_;
  std::vector<std::byte> workspace_;
};

/// The orders and thread counts under which no answer may change.
struct Condition {
  nbx_order blocks, items;
  std::uint32_t threads;
};
inline constexpr Condition conditions[] = {
    {NBX_REVERSE, NBX_FORWARD, 1},   {NBX_FORWARD, NBX_REVERSE, 1},  {NBX_STRIDED, NBX_STRIDED, 1},
    {NBX_SHUFFLED, NBX_SHUFFLED, 1}, {NBX_SHUFFLED, NBX_FORWARD, 3},
};

/// A call of the attention family, inputs drawn from `seed`.
struct AttentionShape {
  std::int64_t B = 1, H = 1, Hk = 1, Tq = 1, Tk = 1, D = 64, Dv = 64;
};
PackCall attention_call(const std::string& kernel, const AttentionShape& s, std::uint64_t seed = 1, bool lse = true);

}  // namespace nbx::test
