#include "kernels/sdpa/call.hpp"

#include <algorithm>
#include <string_view>

namespace nbx::sdpa {
namespace {

constexpr const char* names[] = {"q", "k", "v"};

std::string shape_text(const Operand& operand) { return pack::text(operand.given.shape, 4); }

/// 0, 1, or nothing said.
std::optional<bool> flag(const pack::Problem& given, const char* name) {
  const auto value = given.integer(name);
  if (value && *value != 0 && *value != 1) pack::refuse(NBX_INVALID, name, pack::text(*value), "0 or 1");
  return value ? std::optional(*value == 1) : std::nullopt;
}

DecodeVec read_decode_vec(const pack::Problem& given) {
  const std::string_view word = given.word("decode_vec").value_or("default");
  if (word == "off") return DecodeVec::off;
  if (word == "default") return DecodeVec::by_default;
  if (word == "first") return DecodeVec::first;
  pack::refuse(NBX_INVALID, "decode_vec", word, "off, default or first");
}

/// The kernels of the pack, asked whether they take this call.
class Asked : public Candidates {
 public:
  Asked(const KernelList& kernels, const std::string& format, const nbx_problem& problem)
      : kernels_(kernels), format_(format), problem_(problem) {}

  bool decode_vec(std::string& why) const override { return takes("decode.vec." + format_, why); }
  bool unit_flash(std::string& why) const override { return takes("flash.mma." + unit_format(format_), why); }

 private:
  bool takes(const std::string& name, std::string& why) const {
    const nbx_kernel* const kernel = kernels_.find(name);
    if (kernel == nullptr) {
      why = "the pack has no " + name;
      return false;
    }
    char message[512] = "";
    nbx_problem asked = problem_;
    asked.family = kernel->family;
    if (kernel->can_run(kernel, &asked, message, sizeof message) == NBX_OK) return true;
    why = message;
    return false;
  }

  const KernelList& kernels_;
  const std::string& format_;
  const nbx_problem& problem_;
};

}  // namespace

std::uint64_t Operand::elements() const { return static_cast<std::uint64_t>(pack::elements(shape, 4)); }

const nbx_kernel* KernelList::find(const std::string& name) const {
  const auto* const found =
      std::find_if(first, first + count, [&](const nbx_kernel* one) { return one->name == name; });
  return found == first + count ? nullptr : *found;
}

void RoutedCall::read_operands(const pack::Problem& given) {
  for (std::size_t i = 0; i < 3; ++i) {
    Operand& operand = operands_[i];
    operand.given = *given.tensor({names[i], NBX_IN, 4, 4});
    pack::require_type(operand.given, {pack::f32_type, pack::f16_type, pack::bf16_type});
    std::copy_n(operand.given.shape, 4, operand.shape);
    std::copy_n(operand.given.stride, 4, operand.stride);
  }
}

/// The last two axes of K are keys and dims, or with k_transposed dims and keys. Unsaid, the shape must tell.
void RoutedCall::read_layout(const pack::Problem& given) {
  Operand& k = operands_[1];
  const std::int64_t D = operands_[0].shape[3], Tk = operands_[2].shape[2];
  const auto said = flag(given, "k_transposed");
  bool transposed = said.value_or(false);
  if (!said && k.shape[2] == D && k.shape[3] == Tk) {
    if (D == Tk) {
      pack::refuse(NBX_INVALID, "k", shape_text(k) + " with Tk = D = " + pack::text(D) + " and no k_transposed",
                   "k_transposed of 0 or 1, as the shape does not tell");
    }
    transposed = true;
  }
  if (!transposed) return;
  std::swap(k.shape[2], k.shape[3]);
  std::swap(k.stride[2], k.stride[3]);
}

/// All operands take the narrowest format. f16 and bf16 have none.
void RoutedCall::choose_format(DLDataType format) {
  DLDataType narrowest = pack::f32_type;
  for (const Operand& operand : operands_) {
    const DLDataType own = operand.given.type;
    if (own.bits >= narrowest.bits && !(own.bits == narrowest.bits && !pack::same(own, narrowest))) continue;
    if (own.bits == narrowest.bits) {
      pack::refuse(NBX_INVALID, operand.given.name, "format " + pack::text(own),
                   "beside " + pack::text(narrowest) + " that or f32: neither of f16 and bf16 is the narrower");
    }
    narrowest = own;
  }
  if (!pack::same(narrowest, format)) {
    pack::refuse(NBX_UNSUPPORTED, "q", "k and v of narrowest format " + pack::text(narrowest),
                 pack::text(format) + "; sdpa.route." + pack::text(narrowest) + " serves the other");
  }
  for (Operand& operand : operands_) {
    operand.narrowed = !pack::same(operand.given.type, format);
    if (!operand.narrowed) continue;
    operand.place = narrowed_bytes_;
    const std::uint64_t bytes =
        pack::product(operand.given.name, {operand.shape[0], operand.shape[1], operand.shape[2], operand.shape[3],
                                           static_cast<std::int64_t>(format.bits / 8)});
    narrowed_bytes_ = pack::round_up(narrowed_bytes_ + bytes);
  }
}

void RoutedCall::read_question(const pack::Problem& given) {
  const Operand &q = operands_[0], &v = operands_[2];
  question_ = {q.shape[0],
               q.shape[1],
               q.shape[2],
               v.shape[2],
               q.shape[3],
               v.shape[3],
               pack::text(format_),
               std::nullopt,
               flag(given, "force_math").value_or(false),
               read_decode_vec(given)};
  if (const auto profile = given.word("profile")) question_.profile = read_profile(*profile);
}

RoutedCall::RoutedCall(const nbx_problem& problem, DLDataType format, DLDeviceType device, const KernelList& kernels,
                       bool with_data)
    : format_(format), problem_(problem) {
  const pack::Problem given(problem, "sdpa", device);
  given.know({"q", "k", "v", "bias", "o", "lse"},
             {"causal", "scale", "k_transposed", "profile", "force_math", "decode_vec"});
  read_operands(given);
  read_layout(given);
  choose_format(format);
  read_question(given);
  if (with_data) given.require_data();

  for (std::size_t i = 0; i < problem.tensor_count; ++i) tensors_.push_back(*problem.tensors[i]);
  for (const nbx_tensor& tensor : tensors_) pointers_.push_back(&tensor);
  for (std::size_t i = 0; i < problem.param_count; ++i) {
    const std::string_view name = problem.params[i].name;
    if (name == "causal" || name == "scale") params_.push_back(problem.params[i]);
  }
  problem_.family = "attention";
  problem_.tensors = pointers_.data();
  problem_.params = params_.data();
  problem_.param_count = params_.size();
  inner(static_cast<std::byte*>(nullptr));

  route_ = choose_route(question_, Asked(kernels, question_.format, problem_));
  using Kind = Route::Kind;
  std::string name = "math.simt." + question_.format;
  if (route_.kind == Kind::decode_vec) name = "decode.vec." + question_.format;
  if (route_.kind == Kind::unit_flash) name = "flash.mma." + unit_format(question_.format);
  if (route_.kind == Kind::chunked) {
    name = "chunked.simt." + question_.format;
    options_.push_back({"chunk_rows", NBX_INT, route_.chunk_rows, 0, nullptr});
  }
  if (route_.kind == Kind::flash) name = "flash.simt." + question_.format;
  const bool has_tiles = route_.kind == Kind::flash || route_.kind == Kind::unit_flash;
  if (has_tiles && question_.profile && question_.profile->ceiling) {
    options_.push_back({"ceiling", NBX_INT, *question_.profile->ceiling, 0, nullptr});
  }
  kernel_ = kernels.find(name);
  if (kernel_ == nullptr) {
    pack::refuse(NBX_UNSUPPORTED, "route", route_.text(), "a route whose kernel this pack has: no " + name);
  }
  problem_.family = kernel_->family;
}

const nbx_problem& RoutedCall::inner(std::byte* workspace) {
  for (nbx_tensor& tensor : tensors_) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (std::string_view(names[i]) != tensor.name) continue;
      const Operand& operand = operands_[i];
      std::copy_n(operand.shape, 4, shapes_[i].begin());
      std::copy_n(operand.stride, 4, strides_[i].begin());
      if (operand.narrowed) {
        std::int64_t step = 1;
        for (int axis = 3; axis >= 0; --axis) {
          strides_[i][static_cast<std::size_t>(axis)] = step;
          step *= operand.shape[axis];
        }
        tensor.tensor.dtype = format_;
        if (workspace != nullptr) {
          tensor.tensor.data = workspace + operand.place;
          tensor.tensor.byte_offset = 0;
        }
      }
      tensor.tensor.shape = shapes_[i].data();
      tensor.tensor.strides = strides_[i].data();
    }
  }
  return problem_;
}

const nbx_launch* RoutedCall::inner(const nbx_launch* how) {
  if (how != nullptr) launch_ = *how;
  launch_.struct_size = sizeof launch_;
  launch_.options = options_.data();
  launch_.option_count = options_.size();
  if (launch_.workspace != nullptr && launch_.workspace_bytes >= narrowed_bytes_) {
    launch_.workspace = static_cast<std::byte*>(launch_.workspace) + narrowed_bytes_;
    launch_.workspace_bytes -= narrowed_bytes_;
  }
  return &launch_;
}

}  // namespace nbx::sdpa
