// Poison, layouts and guarded memory by themselves, in this process.
#include "contracts/child/guarded_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <stdexcept>

#include "contracts/child/shared_file.hpp"
#include "contracts/child/tensor_layout.hpp"
#include "tests/contracts/calls.hpp"

namespace nbx::contracts::sandbox {
namespace {

using testing::HasSubstr;

constexpr DLDataType f16{kDLFloat, 16, 1}, bf16{kDLBfloat, 16, 1}, e4m3{kDLFloat8_e4m3fn, 8, 1}, i32{kDLInt, 32, 1};

CallTensor tensor(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {}, std::int64_t offset = 0,
                  DLDataType dtype = f32) {
  return {"t", NBX_IN, dtype, std::move(shape), std::move(strides), offset, nullptr};
}

template <class T>
T element(Poison kind, DLDataType dtype) {
  const std::uint64_t word = poison_word(kind, dtype);
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

TEST(Poison, IsWhatItsNameSaysInTheTensorsOwnFormat) {
  EXPECT_EQ(element<std::uint32_t>(Poison::ones, f32), 0xFFFFFFFFu);
  EXPECT_EQ(element<std::uint32_t>(Poison::zeros, f32), 0u);
  EXPECT_TRUE(std::isnan(element<float>(Poison::nan, f32)));
  EXPECT_GT(element<float>(Poison::large, f32), 1e37f);
  EXPECT_EQ(element<float>(Poison::larger, f32), std::numeric_limits<float>::max());
  EXPECT_LT(element<float>(Poison::large, f32), element<float>(Poison::larger, f32));
  EXPECT_TRUE(std::isnan(element<double>(Poison::nan, {kDLFloat, 64, 1})));
  EXPECT_EQ(element<double>(Poison::larger, {kDLFloat, 64, 1}), std::numeric_limits<double>::max());
  // binary16: exponent all ones, fraction not zero; then the largest finite 65504.
  EXPECT_EQ(element<std::uint16_t>(Poison::nan, f16) & 0x7C00, 0x7C00);
  EXPECT_NE(element<std::uint16_t>(Poison::nan, f16) & 0x03FF, 0);
  EXPECT_EQ(element<std::uint16_t>(Poison::larger, f16), 0x7BFF);
  EXPECT_EQ(element<std::uint16_t>(Poison::nan, bf16) & 0x7F80, 0x7F80);
  EXPECT_NE(element<std::uint16_t>(Poison::nan, bf16) & 0x007F, 0);
  EXPECT_EQ(element<std::uint16_t>(Poison::larger, bf16), 0x7F7F);
  EXPECT_EQ(element<std::uint8_t>(Poison::nan, e4m3), 0x7F);
  EXPECT_EQ(element<std::uint8_t>(Poison::larger, e4m3), 0x7E);
  EXPECT_EQ(element<std::int32_t>(Poison::nan, i32), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(element<std::int32_t>(Poison::larger, i32), std::numeric_limits<std::int32_t>::max());
}

TEST(Poison, FivePoisonsOfAFormatAllDiffer) {
  for (const DLDataType dtype : {f32, f16, bf16, e4m3, i32, DLDataType{kDLFloat8_e5m2, 8, 1}}) {
    std::set<std::uint64_t> words;
    for (const Poison kind : {Poison::ones, Poison::zeros, Poison::nan, Poison::large, Poison::larger}) {
      words.insert(poison_word(kind, dtype));
    }
    EXPECT_EQ(words.size(), 5u) << "format " << int{dtype.code} << " of " << int{dtype.bits} << " bits";
  }
}

TEST(Poison, FormatsWithoutWholeBytesAreRefused) {
  EXPECT_THROW(element_bytes({kDLFloat, 4, 1}), std::invalid_argument);
  EXPECT_THROW(element_bytes({kDLFloat, 32, 3}), std::invalid_argument);
  EXPECT_EQ(element_bytes({kDLFloat, 16, 2}), 4u);
}

TEST(Poison, FindsEachChangedByteAtAnyPhaseAndLength) {
  alignas(8) std::byte memory[1400];
  const std::uint64_t word = 0x8877665544332211;
  for (const int start : {0, 1, 3, 8}) {
    for (const int length : {0, 1, 7, 8, 9, 511, 512, 513, 1300}) {
      std::memset(memory, 0, sizeof memory);
      std::byte *const begin = memory + start, *const end = begin + length;
      fill(begin, end, word);
      EXPECT_EQ(end[0], std::byte{0}) << "filled past its end";
      EXPECT_EQ(find_changed(begin, end, word).count, 0);
      if (length == 0) continue;
      EXPECT_EQ(begin[0], static_cast<std::byte>(0x11 * (start % 8 + 1)));
      for (const int at : {0, length / 2, length - 1}) {
        begin[at] ^= std::byte{0x80};
        const Difference found = find_changed(begin, end, word);
        EXPECT_EQ(found.first, at);
        EXPECT_EQ(found.count, 1);
        begin[at] ^= std::byte{0x80};
      }
    }
  }
}

TEST(TensorLayout, SpanReachesFromTheStorageToTheLastElement) {
  EXPECT_EQ(TensorLayout(tensor({3, 5})).span_bytes(), 60);
  EXPECT_EQ(TensorLayout(tensor({3, 5}, {8, 1}, 2)).span_bytes(), (2 + 2 * 8 + 4 + 1) * 4);
  EXPECT_EQ(TensorLayout(tensor({})).span_bytes(), 4);
  EXPECT_EQ(TensorLayout(tensor({3, 0})).span_bytes(), 0);
  EXPECT_EQ(TensorLayout(tensor({1, 5}, {12345, 1})).span_bytes(), 20) << "the stride of a size-1 axis leads nowhere";
  EXPECT_EQ(TensorLayout(tensor({7, 5}, {0, 1})).span_bytes(), 20);
}

TEST(TensorLayout, KnowsDenseAndOverlapping) {
  EXPECT_TRUE(TensorLayout(tensor({3, 5})).is_dense());
  EXPECT_TRUE(TensorLayout(tensor({3, 1, 5}, {5, 77, 1})).is_dense());
  EXPECT_TRUE(TensorLayout(tensor({})).is_dense());
  EXPECT_TRUE(TensorLayout(tensor({0, 4})).is_dense());
  EXPECT_FALSE(TensorLayout(tensor({3, 5}, {5, 1}, 1)).is_dense());
  EXPECT_FALSE(TensorLayout(tensor({3, 5}, {6, 1})).is_dense());
  EXPECT_FALSE(TensorLayout(tensor({3, 5}, {1, 3})).is_dense());
  EXPECT_FALSE(TensorLayout(tensor({3, 5}, {6, 1})).may_overlap());
  EXPECT_FALSE(TensorLayout(tensor({3, 5}, {1, 3})).may_overlap());
  EXPECT_FALSE(TensorLayout(tensor({1, 5}, {0, 1})).may_overlap());
  EXPECT_TRUE(TensorLayout(tensor({3, 5}, {0, 1})).may_overlap());
  EXPECT_TRUE(TensorLayout(tensor({3, 5}, {4, 1})).may_overlap());
}

TEST(TensorLayout, RefusesWhatIsNoLayout) {
  const auto refused = [](const CallTensor& of) {
    try {
      const TensorLayout layout(of);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused(tensor({3, -1})), HasSubstr("extent is negative"));
  EXPECT_THAT(refused(tensor({3, 5}, {-5, 1})), HasSubstr("stride is negative"));
  EXPECT_THAT(refused(tensor({3, 5}, {1})), HasSubstr("as many strides as axes"));
  EXPECT_THAT(refused(tensor({3, 5}, {5, 1}, -1)), HasSubstr("offset"));
  EXPECT_THAT(refused(tensor({3}, {std::int64_t{1} << 62})), HasSubstr("span"));
  EXPECT_THAT(refused(tensor({std::int64_t{1} << 40, std::int64_t{1} << 40})), HasSubstr("overflow"));
}

TEST(TensorLayout, ScatterPutsEachElementWhereItsStridesSay) {
  const Bytes dense = counted(2 * 3 * 4 * 4);
  for (const auto& [strides, offset] :
       {std::pair{std::vector<std::int64_t>{12, 4, 1}, 0}, std::pair{std::vector<std::int64_t>{20, 6, 1}, 3},
        std::pair{std::vector<std::int64_t>{1, 2, 6}, 0}, std::pair{std::vector<std::int64_t>{4, 8, 1}, 1},
        std::pair{std::vector<std::int64_t>{50, 16, 3}, 2}}) {
    const TensorLayout layout(tensor({2, 3, 4}, strides, offset));
    Bytes storage(static_cast<std::size_t>(layout.span_bytes()), std::byte{0xEE});
    layout.scatter(dense.data(), storage.data());
    Bytes expected(storage.size(), std::byte{0xEE});
    for (std::int64_t i = 0, at = 0; i < 2; ++i) {
      for (std::int64_t j = 0; j < 3; ++j) {
        for (std::int64_t k = 0; k < 4; ++k, ++at) {
          std::memcpy(
              &expected[static_cast<std::size_t>(offset + i * strides[0] + j * strides[1] + k * strides[2]) * 4],
              &dense[static_cast<std::size_t>(at) * 4], 4);
        }
      }
    }
    EXPECT_EQ(storage, expected);
    Bytes back(dense.size());
    layout.gather(storage.data(), back.data());
    EXPECT_EQ(back, dense);
    EXPECT_EQ(layout.changed(storage.data(), dense.data()).count, 0);
    storage[static_cast<std::size_t>(offset + strides[0] + strides[1]) * 4 + 2] ^=
        std::byte{1};  // in element [1, 1, 0]
    EXPECT_EQ(layout.changed(storage.data(), dense.data()).count, 1);
    EXPECT_EQ(layout.changed(storage.data(), dense.data()).first, (strides[0] + strides[1]) * 4 + 2);
  }
}

TEST(TensorLayout, WindowsOfASparseSpanSurroundItsRows) {
  const std::int64_t stride = std::int64_t{1} << 26;  // elements, 256 MiB
  const TensorLayout layout(tensor({3, 5}, {stride, 1}));
  const std::vector<Window> windows = layout.windows();
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_EQ(windows[0].begin, 0);
  EXPECT_EQ(windows[0].end, 20 + guard_bytes);
  EXPECT_EQ(windows[1].begin, stride * 4 - guard_bytes);
  EXPECT_EQ(windows[1].end, stride * 4 + 20 + guard_bytes);
  EXPECT_EQ(windows[2].end, layout.span_bytes());
  EXPECT_EQ(TensorLayout(tensor({3, 5}, {8, 1})).windows().size(), 1u);
}

TEST(HostMemory, DataEndAtAProtectedPageAsCloseAsAlignmentAllows) {
  HostMemory memory;
  for (const std::int64_t bytes : {0, 1, 60, 4096, 4097, 100'000}) {
    for (const std::size_t alignment : {1, 2, 4, 16, 256, 4096}) {
      const Block block = memory.take(bytes, alignment);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.storage) % alignment, 0u);
      EXPECT_EQ(block.kernel_storage, block.storage);
      EXPECT_GE(block.storage - block.room_begin, guard_bytes);
      EXPECT_GE(block.room_end - block.storage, bytes);
      EXPECT_LT(block.room_end - block.storage - bytes, static_cast<std::int64_t>(alignment));
      poison_zones(block, 0x1111111111111111);
      EXPECT_EQ(check_zones(block, 0x1111111111111111).before.count, 0);
      EXPECT_EQ(check_zones(block, 0x1111111111111111).after.count, 0);
      memory.give(block);
    }
  }
}

TEST(HostMemory, ZonesTellWhereTheyWereWritten) {
  HostMemory memory;
  const Block block = memory.take(10, 64);
  poison_zones(block, 0);
  block.storage[-7] = std::byte{1};
  block.storage[-4096] = std::byte{1};
  block.storage[10 + 5] = std::byte{1};
  const ZoneFaults faults = check_zones(block, 0);
  EXPECT_EQ(faults.before.first, -4096);
  EXPECT_EQ(faults.before.count, 2);
  EXPECT_EQ(faults.after.first, 5);
  EXPECT_EQ(faults.after.count, 1);
  memory.give(block);
}

TEST(HostMemory, KeepsAMappingForTheNextOfItsSize) {
  HostMemory memory;
  const Block first = memory.take(1000, 1);
  const Block second = memory.take(1000, 1);
  EXPECT_NE(first.owner, second.owner);
  memory.give(first);
  const Block third = memory.take(900, 4);
  EXPECT_EQ(third.owner, first.owner);
  memory.give(second);
  memory.give(third);
}

TEST(HostMemoryDeathTest, PagesAroundItAreProtected) {
  HostMemory memory;
  const Block block = memory.take(64, 64);
  EXPECT_DEATH(*const_cast<volatile std::byte*>(block.room_end) = std::byte{1}, "");
  EXPECT_DEATH(*const_cast<volatile std::byte*>(block.room_begin - 1) = std::byte{1}, "");
  EXPECT_DEATH(*const_cast<volatile std::byte*>(block.room_end + HostMemory::no_access_bytes - 1) = std::byte{1}, "");
  memory.give(block);
}

TEST(SharedFile, GrowsAndShrinksAgain) {
  SharedFile file;
  file.reserve(100);
  const std::uint64_t small = file.data_bytes();
  EXPECT_GE(small, 100u);
  file.reserve(std::uint64_t{300} << 20);
  EXPECT_GE(file.data_bytes(), std::uint64_t{300} << 20);
  file.data()[(std::int64_t{300} << 20) - 1] = std::byte{1};
  SharedFile other(dup(file.descriptor()));
  other.map(file.data_bytes());
  EXPECT_EQ(other.data()[(std::int64_t{300} << 20) - 1], std::byte{1});
  file.reserve(100);
  EXPECT_EQ(file.data_bytes(), small);
}

}  // namespace
}  // namespace nbx::contracts::sandbox
