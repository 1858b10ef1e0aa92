#include "worker/api/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Part = Outcome::Part;
using wire::Collective;
using wire::DType;

TEST(Outcome, Rule21_PartsCoverTheResultInOrder) {
  EXPECT_THAT(cover({}, 10, 4), ElementsAre(Part{0, 10, 4}));
  EXPECT_THAT(cover({}, 0, 4), IsEmpty());
  const std::array<Part, 4> lacking{{{2, 2, 3}, {4, 2, 3}, {6, 1, 2}, {9, 1, 3}}};
  EXPECT_THAT(cover(lacking, 10, 4), ElementsAre(Part{0, 2, 4}, Part{2, 4, 3}, Part{6, 1, 2},
                                                 Part{7, 2, 4}, Part{9, 1, 3}));
}

TEST(Outcome, ARankGetsWhatItsCollectiveGivesIt) {
  const auto got = [](Collective collective, std::uint32_t rank) {
    CollectiveCall call{collective, nullptr, nullptr, 5, DType::float32};
    call.root = 1;
    return elements_got(call, rank, 3);
  };
  EXPECT_EQ(got(Collective::allreduce, 0), 5u);
  EXPECT_EQ(got(Collective::reduce, 0), 0u);
  EXPECT_EQ(got(Collective::reduce, 1), 5u);
  EXPECT_EQ(got(Collective::reduce_scatter, 2), 5u);
  EXPECT_EQ(got(Collective::all_gather, 2), 15u);
  EXPECT_EQ(got(Collective::barrier, 0), 0u);
}

// A sum of ones is as many as are inside of it.
TEST(Outcome, Rule21_ASumBecomesTheMeanOfThoseInside) {
  Outcome outcome;
  outcome.parts = {{0, 2, 4}, {2, 2, 3}, {4, 1, 1}};
  std::array<float, 5> floats{4, 4, 3, 3, 1};
  outcome.divide(floats.data(), DType::float32);
  EXPECT_THAT(floats, ::testing::Each(1.0F));
  std::array<double, 5> doubles{8, 8, 6, 6, 2};
  outcome.divide(doubles.data(), DType::float64);
  EXPECT_THAT(doubles, ::testing::Each(2.0));
  std::array<std::uint16_t, 5> halves{0x4400, 0x4400, 0x4200, 0x4200, 0x3C00};  // 4 4 3 3 1
  outcome.divide(halves.data(), DType::float16);
  EXPECT_THAT(halves, ::testing::Each(std::uint16_t{0x3C00}));
  std::array<std::uint16_t, 5> brains{0x4080, 0x4080, 0x4040, 0x4040, 0x3F80};
  outcome.divide(brains.data(), DType::bfloat16);
  EXPECT_THAT(brains, ::testing::Each(std::uint16_t{0x3F80}));
  EXPECT_THROW(outcome.divide(halves.data(), DType::int16), std::invalid_argument);
}

TEST(Outcome, Rule21_EachPartOfASumIsScaledByItsOwnCount) {
  Outcome outcome;
  outcome.parts = {{0, 2, 4}, {2, 2, 3}, {4, 1, 1}};
  std::array<float, 5> floats{4, 4, 3, 3, 1};
  outcome.scale(floats.data(), DType::float32, 4);
  EXPECT_THAT(floats, ::testing::Each(4.0F));
  std::array<double, 5> doubles{8, 8, 6, 6, 2};
  outcome.scale(doubles.data(), DType::float64, 4);
  EXPECT_THAT(doubles, ::testing::Each(8.0));
  std::array<std::uint16_t, 5> halves{0x4400, 0x4400, 0x4200, 0x4200, 0x3C00};  // 4 4 3 3 1
  outcome.scale(halves.data(), DType::float16, 4);
  EXPECT_THAT(halves, ::testing::Each(std::uint16_t{0x4400}));
  std::array<std::uint16_t, 5> brains{0x4080, 0x4080, 0x4040, 0x4040, 0x3F80};
  outcome.scale(brains.data(), DType::bfloat16, 4);
  EXPECT_THAT(brains, ::testing::Each(std::uint16_t{0x4080}));
  EXPECT_THROW(outcome.scale(halves.data(), DType::int16, 4), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::worker
