#include "worker/api/open_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tributary::worker {
namespace {

using wire::Collective;
using wire::DType;

class OpenMemoryTest : public ::testing::Test {
 protected:
  // A call of rank 0 of two.
  CallMemory call(Collective collective, std::size_t begin, std::size_t count,
                  std::uint32_t root = 0) {
    CollectiveCall c{collective, &room_[begin], &other_[begin], count, DType::uint8};
    c.root = root;
    return {c, 0, 2};
  }
  std::string refusal(const CallMemory& memory) {
    try {
      open_.claim(memory);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "accepted";
  }

  std::array<std::byte, 64> room_{};
  std::array<std::byte, 64> other_{};
  OpenMemory open_;
};

TEST_F(OpenMemoryTest, A1_WhatAnOpWritesIsItsOwnUntilItIsDone) {
  const auto claim = open_.claim(call(Collective::allreduce, 10, 10));
  EXPECT_EQ(refusal(call(Collective::broadcast, 19, 5)),
            "broadcast: its data overlaps the data of an op in flight (allreduce); wait for that "
            "op first, or use other memory");
  EXPECT_NE(refusal(call(Collective::allreduce, 0, 11)), "accepted");
  EXPECT_NE(refusal(call(Collective::allreduce, 12, 1)), "accepted");
  EXPECT_EQ(refusal(call(Collective::allreduce, 0, 10)), "accepted");
  EXPECT_EQ(refusal(call(Collective::allreduce, 20, 10)), "accepted");
  open_.release(claim);
  EXPECT_EQ(refusal(call(Collective::broadcast, 10, 10)), "accepted");
}

TEST_F(OpenMemoryTest, OpsMayReadTheSame) {
  open_.claim(call(Collective::broadcast, 10, 10));
  EXPECT_EQ(refusal(call(Collective::broadcast, 15, 10)), "accepted");
  EXPECT_EQ(refusal(call(Collective::reduce, 15, 10, 1)), "accepted");  // read by what is no root
  EXPECT_NE(refusal(call(Collective::reduce, 15, 10, 0)), "accepted");
}

TEST_F(OpenMemoryTest, OutputsCount) {
  open_.claim(call(Collective::all_gather, 0, 10));
  EXPECT_EQ(refusal(call(Collective::reduce_scatter, 19, 5)),
            "reduce_scatter: its output overlaps the output of an op in flight (all_gather); wait "
            "for that op first, or use other memory");
}

TEST_F(OpenMemoryTest, RefusedCallsClaimNothing) {
  const auto claim = open_.claim(call(Collective::allreduce, 5, 1));
  // Its data meets the claim, its output doesn't: neither stays.
  EXPECT_NE(refusal(call(Collective::all_gather, 5, 1)), "accepted");
  open_.release(claim);
  EXPECT_EQ(refusal(call(Collective::all_gather, 5, 1)), "accepted");
}

TEST_F(OpenMemoryTest, PlacesAreUsedAgain) {
  for (int round = 0; round < 3; ++round) {
    std::vector<OpenMemory::Claim> claims;
    for (std::size_t i = 0; i < 64; ++i)
      claims.push_back(open_.claim(call(Collective::allreduce, i, 1)));
    for (const auto& c : claims) open_.release(c);
  }
  EXPECT_EQ(refusal(call(Collective::allreduce, 0, 64)), "accepted");
}

// A program that always has an op in flight never releases all.
TEST_F(OpenMemoryTest, OpsAreComparedWithOpenOnesAlone) {
  std::vector<OpenMemory::Claim> claims;
  for (std::size_t i = 0; i < 64; ++i)
    claims.push_back(open_.claim(call(Collective::allreduce, i, 1)));
  for (std::size_t i = 0; i < 60; ++i) open_.release(claims[i * 7 % 60]);
  EXPECT_EQ(open_.ranges(), 4u);
  for (std::size_t i = 60; i < 64; ++i) {
    EXPECT_NE(refusal(call(Collective::allreduce, i, 1)), "accepted") << i;
  }
  for (int round = 0; round < 1000; ++round) {
    const std::size_t i = static_cast<std::size_t>(round) % 50;
    const auto next = open_.claim(call(Collective::allreduce, i, 1));
    EXPECT_EQ(open_.ranges(), 5u);
    open_.release(next);
  }
  for (std::size_t i = 60; i < 64; ++i) open_.release(claims[i]);
  EXPECT_EQ(open_.ranges(), 0u);
  EXPECT_EQ(refusal(call(Collective::allreduce, 0, 64)), "accepted");
}

}  // namespace
}  // namespace tributary::worker
