#include "worker/api/call_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tributary::worker {
namespace {

using ::testing::HasSubstr;
using wire::Collective;
using wire::DType;

constexpr std::uint32_t kRanks = 3;
constexpr std::size_t kCount = 10;

// Whole and part of an all_gather or a reduce_scatter, the part `offset` elements behind the start
// of the whole.
CollectiveCall call_of(Collective collective, std::int32_t* whole, std::ptrdiff_t offset) {
  const bool gathers = collective == Collective::all_gather;
  CollectiveCall call{collective, gathers ? whole + offset : whole,
                      gathers ? whole : whole + offset, kCount, DType::int32};
  return call;
}

class CallMemoryTest : public ::testing::Test {
 protected:
  std::string refusal(const CollectiveCall& call, std::uint32_t rank) {
    try {
      staged_ = CallMemory(call, rank, kRanks).needs_staging();
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "accepted";
  }
  std::int32_t* whole() { return room_.data() + kCount; }

  std::array<std::int32_t, (kRanks + 2) * kCount> room_{};  // the whole, and a part on each side
  bool staged_ = false;
};

TEST_F(CallMemoryTest, A1_OnlyInPlaceOverlapsAreAccepted) {
  for (const auto kind : {Collective::all_gather, Collective::reduce_scatter})
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      for (std::ptrdiff_t at = -std::ptrdiff_t{kCount}; at <= std::ptrdiff_t{kRanks * kCount};
           ++at) {
        const bool outside = at == -std::ptrdiff_t{kCount} || at == kRanks * kCount;
        const bool own = at == static_cast<std::ptrdiff_t>(rank * kCount);
        const bool head = kind == Collective::reduce_scatter && at == 0;
        const std::string text = refusal(call_of(kind, whole(), at), rank);
        EXPECT_EQ(text == "accepted", outside || own || head) << rank << ' ' << at << ' ' << text;
        if (text == "accepted") {
          EXPECT_EQ(staged_, head && !own) << rank << ' ' << at;
        }
      }
}

TEST_F(CallMemoryTest, RefusalsNameTheCallAndThePlaces) {
  EXPECT_EQ(refusal(call_of(Collective::all_gather, whole(), 0), 1),
            "all_gather: data and output overlap; allowed: they don't, or data is rank 1's part of "
            "the output (elements 10 to 19)");
  EXPECT_EQ(refusal(call_of(Collective::reduce_scatter, whole(), 1), 2),
            "reduce_scatter: data and output overlap; allowed: they don't, or the output is the "
            "head of data, or rank 2's part of it (elements 20 to 29)");
}

TEST_F(CallMemoryTest, SaysWhatIsReadAndWritten) {
  struct Expected {
    Collective collective;
    std::uint32_t rank;
    std::size_t data_bytes;
    bool data_written;
    std::size_t output_bytes;
  };
  constexpr std::size_t kPart = kCount * sizeof(std::int32_t);
  const std::array<Expected, 9> cases{{{Collective::allreduce, 1, kPart, true, 0},
                                       {Collective::reduce, 0, kPart, true, 0},
                                       {Collective::reduce, 1, kPart, false, 0},
                                       {Collective::broadcast, 0, kPart, false, 0},
                                       {Collective::broadcast, 1, kPart, true, 0},
                                       {Collective::open, 1, kPart, true, 0},
                                       {Collective::update, 1, kPart, true, 0},
                                       {Collective::all_gather, 1, kPart, false, 3 * kPart},
                                       {Collective::reduce_scatter, 1, 3 * kPart, false, kPart}}};
  std::array<std::int32_t, kRanks * kCount> other{};
  for (const Expected& e : cases) {
    const CollectiveCall call{e.collective, whole(), other.data(), kCount, DType::int32};
    const CallMemory memory(call, e.rank, kRanks);
    const auto ranges = memory.ranges();
    ASSERT_EQ(ranges.size(), e.output_bytes == 0 ? 1u : 2u) << wire::name_of(e.collective);
    EXPECT_EQ(static_cast<std::size_t>(ranges[0].end - ranges[0].begin), e.data_bytes);
    EXPECT_EQ(ranges[0].written, e.data_written) << wire::name_of(e.collective);
    if (ranges.size() == 1) continue;
    EXPECT_EQ(static_cast<std::size_t>(ranges[1].end - ranges[1].begin), e.output_bytes);
    EXPECT_TRUE(ranges[1].written);
  }
}

TEST_F(CallMemoryTest, NothingIsUsedOfNothing) {
  EXPECT_TRUE(CallMemory({Collective::barrier}, 0, kRanks).ranges().empty());
  EXPECT_TRUE(CallMemory({Collective::allreduce, whole(), nullptr, 0, DType::int32}, 0, kRanks)
                  .ranges()
                  .empty());
}

}  // namespace
}  // namespace tributary::worker
