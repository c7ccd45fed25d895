// A call as a fault changes it: a copy of the problem and of the launch that may be edited, and their elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "kernels/pack/nbx_pack.h"

namespace nbx::controls {

/// A tensor of a call. Elements are counted in row-major order of the shape, and read and written by the strides.
struct Tensor {
  static constexpr int max_rank = 8;

  nbx_tensor view;
  std::int64_t shape[max_rank];
  std::int64_t stride[max_rank];

  int rank() const { return view.tensor.ndim; }
  std::int64_t elements() const;
  std::size_t element_bytes() const { return view.tensor.dtype.bits / 8U; }
  /// The address of an element, or of what would be one where the index lies outside.
  std::byte* at(std::int64_t element) const;
  /// f32, f16 and bf16.
  float value(std::int64_t element) const;
  void set_value(std::int64_t element, float value) const;
  /// Element 0 moves by `elements` along `axis`.
  void shift(int axis, std::int64_t elements);
  /// The axis read from its end.
  void reverse(int axis);
  /// Reads from here on as a dense tensor at `data`.
  void move_to(std::byte* data);
};

class Call {
 public:
  /// `launch` may be null. `has_data`: whether what tensors point to may be read.
  Call(const nbx_problem& problem, const nbx_launch* launch, bool has_data);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Null where the call has none of that name.
  Tensor* find(std::string_view name);
  Tensor& tensor(std::string_view name);
  void remove_tensor(std::string_view name);
  /// Another tensor, a copy of `from` under a name of its own.
  void add_tensor(const char* name, const Tensor& from);

  const nbx_param* param(std::string_view name) const;
  /// Replaces it, or adds it.
  void set_param(const nbx_param& param);
  void remove_param(std::string_view name);
  const std::vector<nbx_param>& params() const { return params_; }

  /// The option's value, `otherwise` where the launch does not name it.
  std::int64_t option(std::string_view name, std::int64_t otherwise) const;
  void remove_option(std::string_view name);

  /// Memory that lives as long as the call.
  std::byte* memory(std::size_t bytes);

  bool has_data() const { return has_data_; }
  /// Of the kernel that is called, whatever the fault asks of it.
  nbx_launch launch{};
  std::int64_t note = -1;        // from `before` to `after`
  std::vector<std::byte> saved;  // likewise

  /// The call as it stands now.
  const nbx_problem& problem();
  const nbx_launch* how();

 private:
  nbx_problem problem_;
  bool has_launch_, has_data_;
  std::deque<Tensor> tensors_;
  std::vector<const nbx_tensor*> pointers_;
  std::vector<nbx_param> params_, options_;
  std::deque<std::vector<std::byte>> memory_;
};

}  // namespace nbx::controls
