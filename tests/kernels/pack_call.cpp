#include "tests/kernels/pack_call.hpp"

#include <dlfcn.h>

#include <cstring>
#include <stdexcept>

#include "kernels/tile/number.hpp"

namespace nbx::test {

const nbx_pack& cpu_pack() {
  static const nbx_pack* const pack = [] {
    void* const library = dlopen(NBX_CPU_PACK, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto open = reinterpret_cast<decltype(&nbx_pack_open)>(dlsym(library, "nbx_pack_open"));
    char message[256] = "";
    const nbx_pack* const opened = open == nullptr ? nullptr : open(NBX_PACK_INTERFACE, message, sizeof message);
    if (opened == nullptr) throw std::runtime_error(std::string("the CPU pack does not open: ") + message);
    return opened;
  }();
  return *pack;
}

const nbx_kernel& kernel(const std::string& name) {
  const nbx_pack& pack = cpu_pack();
  for (std::size_t i = 0; i < pack.kernel_count; ++i) {
    if (name == pack.kernels[i]->name) return *pack.kernels[i];
  }
  throw std::runtime_error("no kernel " + name);
}

std::int64_t count(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements;
}

Array::Array(std::string name, nbx_role role, DLDataType type, Shape shape, Shape strides)
    : name_(std::move(name)), role_(role), shape_(std::move(shape)), strides_(std::move(strides)) {
  if (strides_.empty()) {
    strides_.resize(shape_.size());
    std::int64_t step = 1;
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      strides_[axis] = step;
      step *= shape_[axis];
    }
  }
  std::int64_t span = 1;
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
    if (shape_[axis] > 1) span += (shape_[axis] - 1) * strides_[axis];
  }
  storage_.assign(static_cast<std::size_t>(span) * (type.bits / 8U), std::byte{0xFF});
  tensor_.struct_size = sizeof(nbx_tensor);
  tensor_.role = role_;
  tensor_.tensor.device = {kDLCPU, 0};
  tensor_.tensor.dtype = type;
}

const nbx_tensor* Array::tensor() {  // pointers are set late: the array may have moved
  tensor_.name = name_.c_str();
  tensor_.tensor.data = storage_.data();
  tensor_.tensor.ndim = static_cast<std::int32_t>(shape_.size());
  tensor_.tensor.shape = shape_.data();
  tensor_.tensor.strides = strides_.data();
  return &tensor_;
}

std::size_t Array::place(std::int64_t element) const {
  std::int64_t at = 0;
  for (std::size_t axis = shape_.size(); axis-- > 0;) {
    const std::int64_t index = element % shape_[axis];
    element /= shape_[axis];
    if (shape_[axis] > 1) at += index * strides_[axis];
  }
  return static_cast<std::size_t>(at) * (tensor_.tensor.dtype.bits / 8U);
}

void Array::set(std::int64_t element, float value) {
  std::byte* const at = storage_.data() + place(element);
  if (tensor_.tensor.dtype.bits == 32) {
    std::memcpy(at, &value, 4);
  } else if (tensor_.tensor.dtype.code == kDLFloat8_e4m3fn) {
    const tile::e4m3 narrow = tile::encode<tile::e4m3>(value);
    std::memcpy(at, &narrow, 1);
  } else if (tensor_.tensor.dtype.code == kDLBfloat) {
    const tile::bf16 narrow = tile::encode<tile::bf16>(value);
    std::memcpy(at, &narrow, 2);
  } else {
    const tile::f16 narrow = tile::encode<tile::f16>(value);
    std::memcpy(at, &narrow, 2);
  }
}

void Array::set_integers(const std::vector<std::int32_t>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    std::memcpy(storage_.data() + place(static_cast<std::int64_t>(i)), &values[i], 4);
}

std::uint32_t Array::bits(std::int64_t element) const {
  std::uint32_t out = 0;
  std::memcpy(&out, storage_.data() + place(element), tensor_.tensor.dtype.bits / 8U);
  return out;
}

float Array::get(std::int64_t element) const {
  const std::uint32_t pattern = bits(element);
  if (tensor_.tensor.dtype.bits == 32) return tile::float_of(pattern);
  if (tensor_.tensor.dtype.code == kDLFloat8_e4m3fn)
    return tile::decode(tile::e4m3{static_cast<std::uint8_t>(pattern)});
  const auto half = static_cast<std::uint16_t>(pattern);
  return tensor_.tensor.dtype.code == kDLBfloat ? tile::decode(tile::bf16{half}) : tile::decode(tile::f16{half});
}

void Array::fill(float value) {
  for (std::int64_t i = 0; i < elements(); ++i) set(i, value);
}

void Array::randomise(std::uint64_t seed, float spread) {
  std::mt19937_64 engine(seed);
  for (std::int64_t i = 0; i < elements(); ++i) {
    const double unit = static_cast<double>(engine() >> 11) * 0x1p-53;
    set(i, spread * static_cast<float>(4 * unit - 2));
  }
}

std::vector<std::uint32_t> Array::all_bits() const {
  std::vector<std::uint32_t> out;
  for (std::int64_t i = 0; i < elements(); ++i) {
    const float value = get(i);
    out.push_back(value == value ? bits(i) : 0x7FFFFFFFU);  // every NaN is one value
  }
  return out;
}

PackCall::PackCall(const std::string& name) : kernel(&test::kernel(name)) { launch.struct_size = sizeof(nbx_launch); }

Array& PackCall::operator[](const std::string& name) {
  for (Array& array : arrays) {
    if (array.name() == name) return array;
  }
  throw std::runtime_error("no tensor " + name);
}

nbx_problem PackCall::problem() {
  tensors_.clear();
  for (Array& array : arrays) tensors_.push_back(array.tensor());
  nbx_problem out{};
  out.struct_size = sizeof(nbx_problem);
  out.family = kernel->family;
  out.tensors = tensors_.data();
  out.tensor_count = tensors_.size();
  out.params = params.data();
  out.param_count = params.size();
  out.rank = rank, out.ranks = ranks;
  out.communicator = communicator;
  return out;
}

void PackCall::prepare() {
  launch.options = options.data();
  launch.option_count = options.size();
  message.assign(1024, '\0');
}

nbx_status PackCall::can_run() {
  prepare();
  const nbx_problem p = problem();
  const nbx_status status = kernel->can_run(kernel, &p, message.data(), message.size());
  message.resize(std::strlen(message.c_str()));
  return status;
}

std::uint64_t PackCall::workspace_bytes() {
  prepare();
  const nbx_problem p = problem();
  std::uint64_t bytes = 0;
  if (kernel->workspace_bytes(kernel, &p, &launch, &bytes, message.data(), message.size()) != NBX_OK) return 0;
  return bytes;
}

nbx_status PackCall::check() {
  workspace_.assign(workspace_bytes() + 256, std::byte{0xFF});
  const auto address = reinterpret_cast<std::uintptr_t>(workspace_.data());
  launch.workspace = workspace_.data() + (256 - address % 256) % 256;
  launch.workspace_bytes = workspace_.size() - 256;
  prepare();
  const nbx_problem p = problem();
  const nbx_status status = kernel->check(kernel, &p, &launch, message.data(), message.size());
  message.resize(std::strlen(message.c_str()));
  return status;
}

nbx_status PackCall::run_unchecked() {
  prepare();
  const nbx_problem p = problem();
  const nbx_status status = kernel->run(kernel, &p, &launch, message.data(), message.size());
  message.resize(std::strlen(message.c_str()));
  return status;
}

nbx_status PackCall::run() {
  if (const nbx_status status = can_run(); status != NBX_OK) return status;
  if (const nbx_status status = check(); status != NBX_OK) return status;
  return run_unchecked();
}

nbx_arithmetic PackCall::arithmetic() {
  prepare();
  const nbx_problem p = problem();
  nbx_arithmetic out{};
  EXPECT_EQ(kernel->arithmetic(kernel, &p, &out, message.data(), message.size()), NBX_OK) << message.c_str();
  return out;
}

PackCall attention_call(const std::string& name, const AttentionShape& s, std::uint64_t seed, bool lse) {
  PackCall call(name);
  const DLDataType format = call.kernel->format;
  call.add({"q", NBX_IN, format, {s.B, s.H, s.Tq, s.D}}).randomise(seed);
  call.add({"k", NBX_IN, format, {s.B, s.Hk, s.Tk, s.D}}).randomise(seed + 1);
  call.add({"v", NBX_IN, format, {s.B, s.Hk, s.Tk, s.Dv}}).randomise(seed + 2);
  call.add({"o", NBX_OUT, format, {s.B, s.H, s.Tq, s.Dv}});
  if (lse) call.add({"lse", NBX_OUT, {kDLFloat, 32, 1}, {s.B, s.H, s.Tq}});
  return call;
}

}  // namespace nbx::test
