#include "worker/api/array_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ArrayListTest : public ::testing::Test {
 protected:
  std::array<std::int32_t, 8> room_ = {0, 1, 2, 3, 4, 5, 6, 7};
};

TEST_F(ArrayListTest, ArraysThatFollowEachOtherAreOneAlready) {
  const std::array<ArrayPart, 4> arrays = {
      {{&room_[1], 2}, {nullptr, 0}, {&room_[3], 1}, {&room_[4], 3}}};
  ArrayList list(arrays, sizeof room_[0]);
  EXPECT_TRUE(list.is_one());
  EXPECT_EQ(list.count(), 6u);
  EXPECT_EQ(list.pack({}), &room_[1]);
  list.unpack();
  EXPECT_THAT(room_, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST_F(ArrayListTest, OthersArePackedInTheirOrderAndGetTheResult) {
  const std::array<ArrayPart, 3> arrays = {{{&room_[6], 2}, {&room_[0], 1}, {&room_[3], 2}}};
  ArrayList list(arrays, sizeof room_[0]);
  EXPECT_FALSE(list.is_one());
  auto* const one = static_cast<std::int32_t*>(list.pack({}));
  EXPECT_THAT(std::span(one, list.count()), ElementsAre(6, 7, 0, 3, 4));
  for (std::size_t i = 0; i < list.count(); ++i) one[i] *= 10;
  list.unpack();
  EXPECT_THAT(room_, ElementsAre(0, 1, 2, 30, 40, 5, 60, 70));
}

TEST_F(ArrayListTest, WhatIsOnlyReadIsNotWritten) {
  const std::array<ArrayPart, 2> arrays = {{{&room_[6], 2}, {&room_[0], 1}}};
  ArrayList list(arrays, sizeof room_[0]);
  auto* const one = static_cast<std::int32_t*>(list.pack({.read = true, .written = false}));
  one[0] = 99;
  list.unpack();
  EXPECT_EQ(room_[6], 6);
}

TEST_F(ArrayListTest, NothingIsAListToo) {
  ArrayList list({}, 4);
  EXPECT_EQ(list.count(), 0u);
  EXPECT_EQ(list.pack({}), nullptr);
  list.unpack();
}

TEST_F(ArrayListTest, MistakesAreNamed) {
  const auto refusal = [](auto&& act) {
    try {
      act();
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const std::array<ArrayPart, 2> arrays = {{{&room_[6], 2}, {nullptr, 1}}};
  EXPECT_THAT(refusal([&] { ArrayList(arrays, 4); }), HasSubstr("array 1 of the list"));
  for (const auto collective : {wire::Collective::all_gather, wire::Collective::reduce_scatter,
                                wire::Collective::barrier, wire::Collective::update})
    EXPECT_THAT(refusal([&] { list_access({.collective = collective}, 0); }),
                HasSubstr("allowed are allreduce, reduce and broadcast"));
}

TEST_F(ArrayListTest, TheRootReadsOrWritesAlone) {
  CollectiveCall call{.collective = wire::Collective::broadcast};
  call.root = 1;
  EXPECT_FALSE(list_access(call, 1).written);
  EXPECT_FALSE(list_access(call, 0).read);
  call.collective = wire::Collective::reduce;
  EXPECT_TRUE(list_access(call, 1).written);
  EXPECT_FALSE(list_access(call, 0).written);
}

}  // namespace
}  // namespace tributary::worker
