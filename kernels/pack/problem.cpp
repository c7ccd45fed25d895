#include "kernels/pack/problem.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

namespace nbx::pack {
namespace {

std::string listed(std::initializer_list<std::string_view> names) {
  std::string out;
  for (const std::string_view name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out.empty() ? "none" : out;
}

bool contains(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view role_name(nbx_role role) {
  switch (role) {
    case NBX_IN:
      return "in";
    case NBX_OUT:
      return "out";
    case NBX_INOUT:
      return "in-out";
    case NBX_PARTIAL:
      return "partial";
    default:
      return "unknown";
  }
}

/// Two elements of a tensor that is written never share a place: axes sorted by stride, each must step over all that
/// the smaller ones reach.
void require_separate_elements(const Tensor& tensor) {
  if (elements(tensor.shape, tensor.rank) == 0) return;
  std::vector<int> axes;
  for (int axis = 0; axis < tensor.rank; ++axis) {
    if (tensor.shape[axis] > 1) axes.push_back(axis);
  }
  std::sort(axes.begin(), axes.end(),
            [&](int a, int b) { return std::llabs(tensor.stride[a]) < std::llabs(tensor.stride[b]); });
  std::int64_t reach = 0;
  for (const int axis : axes) {
    const std::int64_t stride = std::llabs(tensor.stride[axis]);
    if (stride <= reach) {
      refuse(NBX_INVALID, tensor.name,
             "strides " + text(tensor.stride, tensor.rank) + " of shape " + text(tensor.shape, tensor.rank),
             "for an output, strides that give each element a place of its own");
    }
    reach += stride * (tensor.shape[axis] - 1);
  }
}

}  // namespace

std::string text(DLDataType type) {
  if (same(type, f32_type)) return "f32";
  if (same(type, f16_type)) return "f16";
  if (same(type, bf16_type)) return "bf16";
  if (same(type, {kDLFloat8_e4m3fn, 8, 1})) return "e4m3";
  if (same(type, {kDLFloat8_e5m2, 8, 1})) return "e5m2";
  const char* const kind = type.code == kDLInt ? "int" : type.code == kDLUInt ? "uint" : "type";
  const std::string number = type.code <= kDLUInt ? "" : std::to_string(type.code) + " of bits ";
  const std::string lanes = type.lanes == 1 ? "" : " x " + std::to_string(type.lanes);
  return kind + number + std::to_string(type.bits) + lanes;
}

std::int64_t elements(const std::int64_t* shape, int rank) {
  std::int64_t count = 1;
  bool overflow = false;
  for (int axis = 0; axis < rank; ++axis) {
    if (shape[axis] == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(count, shape[axis], &count);
  }
  return overflow ? std::numeric_limits<std::int64_t>::max() : count;
}

Problem::Problem(const nbx_problem& problem, std::string_view family, DLDeviceType device, bool ring)
    : problem_(problem), device_(device) {
  if (problem.struct_size < sizeof(nbx_problem)) {
    refuse(NBX_INVALID, "problem", "struct_size " + std::to_string(problem.struct_size),
           "at least " + std::to_string(sizeof(nbx_problem)));
  }
  if (problem.family == nullptr || problem.family != family) {
    refuse(NBX_UNSUPPORTED, "family", problem.family == nullptr ? "none" : problem.family, family);
  }
  if (problem.ranks > 1 && !ring) {
    refuse(NBX_UNSUPPORTED, "ranks", std::to_string(problem.ranks), "1: this kernel takes no part in a ring");
  }
  if ((problem.tensor_count > 0 && problem.tensors == nullptr) ||
      (problem.param_count > 0 && problem.params == nullptr)) {
    refuse(NBX_INVALID, "problem", "a null list", "a list of as many entries as its count says");
  }
}

void Problem::know(std::initializer_list<std::string_view> tensors,
                   std::initializer_list<std::string_view> params) const {
  for (std::size_t i = 0; i < problem_.tensor_count; ++i) {
    const nbx_tensor* const given = problem_.tensors[i];
    if (given == nullptr || given->struct_size < sizeof(nbx_tensor) || given->name == nullptr) {
      refuse(NBX_INVALID, "tensors", "entry " + std::to_string(i) + " is null, unnamed or too small",
             "a complete nbx_tensor");
    }
    if (!contains(tensors, given->name)) {
      refuse(NBX_UNSUPPORTED, given->name, "a tensor that this kernel does not know", listed(tensors));
    }
    for (std::size_t other = 0; other < i; ++other) {
      if (std::string_view(problem_.tensors[other]->name) == given->name) {
        refuse(NBX_INVALID, given->name, "given twice", "each tensor once");
      }
    }
  }
  for (std::size_t i = 0; i < problem_.param_count; ++i) {
    const char* const given = problem_.params[i].name;
    if (given == nullptr) refuse(NBX_INVALID, "params", "entry " + std::to_string(i) + " has no name", "named ones");
    if (!contains(params, given)) {
      refuse(NBX_UNSUPPORTED, given, "a parameter that this kernel does not know", listed(params));
    }
    for (std::size_t other = 0; other < i; ++other) {
      if (std::string_view(problem_.params[other].name) == given) {
        refuse(NBX_INVALID, given, "given twice", "each parameter once");
      }
    }
  }
}

std::optional<Tensor> Problem::tensor(const Expectation& expected) const {
  const nbx_tensor* given = nullptr;
  for (std::size_t i = 0; i < problem_.tensor_count; ++i) {
    if (expected.name == problem_.tensors[i]->name) given = problem_.tensors[i];
  }
  if (given == nullptr) {
    if (!expected.optional) refuse(NBX_INVALID, expected.name, "missing", "required");
    return std::nullopt;
  }
  const DLTensor& dl = given->tensor;
  if (dl.ndim < expected.least_rank || dl.ndim > expected.most_rank) {
    const std::string ranks = expected.least_rank == expected.most_rank
                                  ? std::to_string(expected.least_rank)
                                  : std::to_string(expected.least_rank) + " to " + std::to_string(expected.most_rank);
    refuse(NBX_INVALID, expected.name, "rank " + std::to_string(dl.ndim), "rank " + ranks);
  }
  if (given->role != expected.role) {
    refuse(NBX_INVALID, expected.name, "role " + std::string(role_name(given->role)),
           "role " + std::string(role_name(expected.role)));
  }
  if (dl.device.device_type != device_) {
    refuse(NBX_INVALID, expected.name, "device type " + std::to_string(dl.device.device_type),
           "device type " + std::to_string(device_));
  }
  if (dl.ndim > 0 && (dl.shape == nullptr || dl.strides == nullptr)) {
    refuse(NBX_INVALID, expected.name, "no shape or no strides", "both");
  }
  Tensor out{expected.name, given->role, dl.dtype, dl.ndim, dl.shape, dl.strides, nullptr};
  for (int axis = 0; axis < out.rank; ++axis) {
    if (out.shape[axis] < 0) {
      refuse(NBX_INVALID, expected.name, "shape " + text(out.shape, out.rank), "sizes of at least 0");
    }
  }
  if (dl.data != nullptr) {
    out.data = static_cast<std::byte*>(dl.data) + dl.byte_offset;
    const std::uintptr_t size = std::max<std::uintptr_t>(dl.dtype.bits / 8U, 1U);
    if (reinterpret_cast<std::uintptr_t>(out.data) % size != 0) {
      refuse(NBX_UNSUPPORTED, expected.name,
             "data at " + std::to_string(reinterpret_cast<std::uintptr_t>(out.data) % 256) +
                 " bytes past a multiple of 256",
             "data aligned to its elements' " + std::to_string(size) + " bytes");
    }
  }
  if (out.role != NBX_IN) require_separate_elements(out);
  return out;
}

const nbx_param* Problem::param(std::string_view name, nbx_param_kind kind) const {
  for (std::size_t i = 0; i < problem_.param_count; ++i) {
    const nbx_param& given = problem_.params[i];
    if (name != given.name) continue;
    constexpr std::string_view kinds[] = {"an integer", "a real", "a text"};
    if (given.kind != kind || (kind == NBX_TEXT && given.text == nullptr)) {
      refuse(NBX_INVALID, name, given.kind <= NBX_TEXT ? kinds[given.kind] : "of unknown kind", kinds[kind]);
    }
    return &given;
  }
  return nullptr;
}

std::optional<std::int64_t> Problem::integer(std::string_view name) const {
  const nbx_param* const given = param(name, NBX_INT);
  return given == nullptr ? std::nullopt : std::optional(given->integer);
}

std::optional<double> Problem::real(std::string_view name) const {
  const nbx_param* const given = param(name, NBX_REAL);
  return given == nullptr ? std::nullopt : std::optional(given->real);
}

std::optional<std::string_view> Problem::word(std::string_view name) const {
  const nbx_param* const given = param(name, NBX_TEXT);
  return given == nullptr ? std::nullopt : std::optional<std::string_view>(given->text);
}

void Problem::require_data() const {
  for (std::size_t i = 0; i < problem_.tensor_count; ++i) {
    const DLTensor& dl = problem_.tensors[i]->tensor;
    const std::int64_t count = elements(dl.shape, dl.ndim);
    if (count > 0 && dl.data == nullptr) {
      refuse(NBX_INVALID, problem_.tensors[i]->name, "no data", "data for its " + text(count) + " elements");
    }
  }
}

void require_type(const Tensor& tensor, std::initializer_list<DLDataType> types) {
  std::string accepted;
  for (const DLDataType& type : types) {
    if (same(tensor.type, type)) return;
    const std::string name = text(type);
    if (accepted.find(name) == std::string::npos) accepted += (accepted.empty() ? "" : " or ") + name;
  }
  refuse(NBX_UNSUPPORTED, tensor.name, "format " + text(tensor.type), "format " + accepted);
}

Options::Options(const nbx_launch* launch, std::initializer_list<std::string_view> known) : launch_(launch) {
  if (launch == nullptr) return;
  if (launch->struct_size < sizeof(nbx_launch)) {
    refuse(NBX_INVALID, "launch", "struct_size " + std::to_string(launch->struct_size),
           "at least " + std::to_string(sizeof(nbx_launch)));
  }
  if (launch->block_order > NBX_SHUFFLED || launch->item_order > NBX_SHUFFLED) {
    refuse(NBX_INVALID, launch->block_order > NBX_SHUFFLED ? "block_order" : "item_order",
           std::to_string(std::max(launch->block_order, launch->item_order)), "0 to 3");
  }
  if (launch->option_count > 0 && launch->options == nullptr) {
    refuse(NBX_INVALID, "options", "a null list", "a list of as many entries as its count says");
  }
  for (std::size_t i = 0; i < launch->option_count; ++i) {
    const char* const given = launch->options[i].name;
    if (given == nullptr) refuse(NBX_INVALID, "options", "entry " + std::to_string(i) + " has no name", "named ones");
    if (!contains(known, given)) {
      refuse(NBX_UNSUPPORTED, given, "a launch option that this kernel does not know", listed(known));
    }
    if (launch->options[i].kind != NBX_INT) refuse(NBX_INVALID, given, "not an integer", "an integer");
  }
}

std::int64_t Options::integer(std::string_view name, std::int64_t otherwise, std::int64_t least,
                              std::int64_t most) const {
  if (launch_ == nullptr) return otherwise;
  for (std::size_t i = 0; i < launch_->option_count; ++i) {
    const nbx_param& given = launch_->options[i];
    if (name != given.name) continue;
    if (given.integer < least || given.integer > most) {
      refuse(NBX_INVALID, name, text(given.integer), text(least) + " to " + text(most));
    }
    return given.integer;
  }
  return otherwise;
}

std::byte* require_workspace(const nbx_launch& launch, std::uint64_t bytes) {
  if (bytes == 0) return nullptr;
  if (launch.workspace == nullptr || launch.workspace_bytes < bytes) {
    refuse(NBX_INVALID, "workspace",
           launch.workspace == nullptr ? "none" : std::to_string(launch.workspace_bytes) + " bytes",
           "at least " + std::to_string(bytes) + " bytes");
  }
  if (reinterpret_cast<std::uintptr_t>(launch.workspace) % 256 != 0) {
    refuse(NBX_INVALID, "workspace", "an address that is no multiple of 256", "one aligned to 256 bytes");
  }
  return static_cast<std::byte*>(launch.workspace);
}

std::uint64_t product(std::string_view what, std::initializer_list<std::int64_t> factors) {
  std::int64_t out = 1;
  bool overflow = false;
  for (const std::int64_t factor : factors) {
    if (factor == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(out, factor, &out);
  }
  if (overflow) refuse(NBX_UNSUPPORTED, what, "past 2^63 bytes", "sizes that a 64-bit address holds");
  return static_cast<std::uint64_t>(out);
}

}  // namespace nbx::pack
