#include <gtest/gtest.h>

#include "contracts/dense.hpp"
#include "contracts/gates/red.hpp"

namespace nbx::contracts {
namespace {

const Shape shape{2, 3, 130, 64};
const std::vector<std::string> axes{"batch", "head", "row", "column"};

std::string pattern(const Box& box) { return spatial_pattern(shape, axes, box_indices(shape, box)); }

TEST(SpatialPattern, NamesTheTailOfAHead) {
  EXPECT_EQ(pattern({{0, 1}, {1, 2}, {128, 130}, {0, 64}}),
            "batch 0, head 1, rows 128-129 (the last 2 of 130), all 64 columns");
}

TEST(SpatialPattern, NamesATile) {
  EXPECT_EQ(pattern({{0, 2}, {0, 3}, {32, 64}, {5, 6}}),
            "all 2 batches, all 3 heads, rows 32-63 (tile 1 of 32), column 5");
}

TEST(SpatialPattern, NamesAStepAndSaysHowManyOfABoxAreMeant) {
  std::vector<std::int64_t> elements;
  for (std::int64_t row = 1; row < 130; row += 3) elements.push_back(row * 64);
  EXPECT_EQ(spatial_pattern(shape, axes, elements), "batch 0, head 0, every 3th row from 1 to 127, column 0");
  EXPECT_EQ(
      spatial_pattern(shape, axes, {0, 65}),
      "batch 0, head 0, rows 0-1 (the first 2 of 130), columns 0-1 (the first 2 of 64); 2 of the 4 elements there");
}

TEST(SpatialPattern, NamesTheOnlyElement) {
  EXPECT_EQ(spatial_pattern({1, 1}, {"row", "column"}, {0}), "the only element");
}

TEST(Dense, BoxesAndCoordinates) {
  EXPECT_EQ(dense_strides({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(coordinates({2, 3, 4}, 23), (Shape{1, 2, 3}));
  EXPECT_EQ(box_indices({2, 3, 4}, {{1, 2}, {0, 2}, {3, 4}}), (std::vector<std::int64_t>{15, 19}));
  EXPECT_TRUE(box_indices({2, 3}, {{0, 0}, {0, 3}}).empty());
}

TEST(Dense, ALayoutKeepsElementsApart) {
  CallTensor tensor = output_tensor("o", {kDLFloat, 32, 1}, {2, 1, 5});
  lay_out(tensor, {2, 1, 0}, 3, 7, 99);
  EXPECT_EQ(tensor.strides, (std::vector<std::int64_t>{1, 99, 5}));
  EXPECT_EQ(tensor.offset, 7);
}

}  // namespace
}  // namespace nbx::contracts
