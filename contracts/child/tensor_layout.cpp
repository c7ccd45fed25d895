#include "contracts/child/tensor_layout.hpp"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

namespace nbx::contracts::sandbox {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 46;

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    // Where this wraps, the extents overflow too, and are refused.
    static_cast<void>(__builtin_mul_overflow(stride, std::max<std::int64_t>(shape[axis], 1), &stride));
  }
  return strides;
}

/// Copies `count` elements between two places with strides in elements.
template <std::size_t Unit>
void copy_elements(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
                   std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_stride * std::int64_t{Unit}, from + i * from_stride * std::int64_t{Unit}, Unit);
  }
}

void copy_run(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
              std::int64_t count, std::int64_t unit) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count * unit));
  } else if (unit == 1) {
    copy_elements<1>(from, from_stride, to, to_stride, count);
  } else if (unit == 2) {
    copy_elements<2>(from, from_stride, to, to_stride, count);
  } else if (unit == 4) {
    copy_elements<4>(from, from_stride, to, to_stride, count);
  } else {
    copy_elements<8>(from, from_stride, to, to_stride, count);
  }
}

std::vector<Window> merged(std::vector<Window> windows) {
  std::sort(windows.begin(), windows.end(), [](Window a, Window b) { return a.begin < b.begin; });
  std::vector<Window> result;
  for (const Window& window : windows) {
    if (!result.empty() && window.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, window.end);
    } else {
      result.push_back(window);
    }
  }
  return result;
}

}  // namespace

TensorLayout::TensorLayout(const CallTensor& tensor)
    : unit_(static_cast<std::int64_t>(element_bytes(tensor.dtype))),
      offset_(tensor.offset),
      strides_(tensor.strides.empty() ? dense_strides(tensor.shape) : tensor.strides) {
  const auto refuse = [&](const char* why) {
    throw std::invalid_argument(fmt::format("tensor {}: {}", tensor.name, why));
  };
  if (strides_.size() != tensor.shape.size()) refuse("as many strides as axes are needed");
  if (offset_ < 0 || offset_ > most_bytes) refuse("its offset is negative or too large");
  std::int64_t last = 0;  // the place of the last element, relative to element 0
  for (std::size_t axis = 0; axis < strides_.size(); ++axis) {
    const std::int64_t extent = tensor.shape[axis];
    if (extent < 0) refuse("an extent is negative");
    if (strides_[axis] < 0) refuse("a stride is negative");
    std::int64_t reach = 0;
    if (extent > 1 && __builtin_mul_overflow(extent - 1, strides_[axis], &reach)) refuse("its span overflows");
    if (__builtin_add_overflow(last, reach, &last)) refuse("its span overflows");
    if (__builtin_mul_overflow(elements_, extent, &elements_)) refuse("its extents overflow");
    if (extent == 1) continue;
    if (!axes_.empty() && extent > 0 && axes_.back().stride == extent * strides_[axis]) {
      axes_.back() = {axes_.back().extent * extent, strides_[axis]};
    } else {
      axes_.push_back({extent, strides_[axis]});
    }
  }
  if (axes_.empty()) axes_.push_back({1, 1});
  if (last > most_bytes || elements_ > most_bytes) refuse("its span does not fit the address space");
  span_ = elements_ == 0 ? offset_ : offset_ + last + 1;
  if (span_ > most_bytes / unit_) refuse("its span does not fit the address space");
}

template <class F>
void TensorLayout::each_run(F f) const {
  if (elements_ == 0) return;
  const Axis inner = axes_.back();
  const std::size_t outer = axes_.size() - 1;
  std::vector<std::int64_t> at(outer, 0);
  std::int64_t place = offset_;
  for (std::int64_t index = 0; index < elements_; index += inner.extent) {
    f(Run{place, index, inner.extent, inner.stride});
    for (std::size_t axis = outer; axis-- > 0;) {
      place += axes_[axis].stride;
      if (++at[axis] < axes_[axis].extent) break;
      place -= axes_[axis].stride * axes_[axis].extent;
      at[axis] = 0;
    }
  }
}

bool TensorLayout::is_dense() const {
  return elements_ == 0 ? span_ == 0 : offset_ == 0 && axes_.size() == 1 && axes_[0].stride == 1;
}

bool TensorLayout::may_overlap() const {
  // Sorted by stride, each axis must step over all that the smaller ones reach.
  std::vector<Axis> axes = axes_;
  std::sort(axes.begin(), axes.end(), [](Axis a, Axis b) { return a.stride < b.stride; });
  std::int64_t reach = 0;
  for (const Axis& axis : axes) {
    if (axis.extent > 1 && axis.stride <= reach) return true;
    reach += (axis.extent - 1) * axis.stride;
  }
  return false;
}

std::vector<Window> TensorLayout::windows() const {
  if (span_bytes() <= sparse_above) return {{0, span_bytes()}};
  std::vector<Window> windows;
  const auto around = [&](std::int64_t place, std::int64_t count) {
    windows.push_back({std::max<std::int64_t>(place * unit_ - guard_bytes, 0),
                       std::min((place + count) * unit_ + guard_bytes, span_bytes())});
  };
  each_run([&](const Run& run) {
    if (run.stride == 1) return around(run.place, run.count);
    for (std::int64_t i = 0; i < run.count; ++i) around(run.place + i * run.stride, 1);
  });
  return merged(std::move(windows));
}

void TensorLayout::scatter(const std::byte* dense, std::byte* storage) const {
  each_run([&](const Run& run) {
    copy_run(dense + run.index * unit_, 1, storage + run.place * unit_, run.stride, run.count, unit_);
  });
}

void TensorLayout::gather(const std::byte* storage, std::byte* dense) const {
  each_run([&](const Run& run) {
    copy_run(storage + run.place * unit_, run.stride, dense + run.index * unit_, 1, run.count, unit_);
  });
}

void TensorLayout::poison_elements(std::byte* storage, std::uint64_t word) const {
  std::byte element[8];
  std::memcpy(element, &word, sizeof element);
  each_run([&](const Run& run) {
    std::byte* place = storage + run.place * unit_;
    if (run.stride == 1) return fill(place, place + run.count * unit_, word);
    copy_run(element, 0, place, run.stride, run.count, unit_);
  });
}

Difference TensorLayout::changed(const std::byte* storage, const std::byte* dense) const {
  Difference found{0, 0};
  const auto compare = [&](std::int64_t place, std::int64_t index, std::int64_t count) {
    const std::byte* begin = storage + place * unit_;
    const Difference here = find_changed(begin, begin + count * unit_, dense + index * unit_);
    const std::int64_t first = (place - offset_) * unit_ + here.first;
    if (here.count != 0 && (found.count == 0 || first < found.first)) found.first = first;
    found.count += here.count;
  };
  each_run([&](const Run& run) {
    if (run.stride == 1) return compare(run.place, run.index, run.count);
    for (std::int64_t i = 0; i < run.count; ++i) compare(run.place + i * run.stride, run.index + i, 1);
  });
  return found;
}

bool TensorLayout::all_poison(const std::byte* storage, std::uint64_t word) const {
  bool same = true;
  each_run([&](const Run& run) {
    const std::byte* place = storage + run.place * unit_;
    if (run.stride == 1) {
      same = same && find_changed(place, place + run.count * unit_, word).count == 0;
      return;
    }
    for (std::int64_t i = 0; same && i < run.count; ++i) {
      same = std::memcmp(place + i * run.stride * unit_, &word, static_cast<std::size_t>(unit_)) == 0;
    }
  });
  return same;
}

}  // namespace nbx::contracts::sandbox
