#include "worker/layout/address_bits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "core/prng.h"

namespace tributary::layout {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(AddressBits, AreTwoNumbersInText) {
  EXPECT_EQ(address_bits_of("16,1"), (AddressBits{16, 1}));
  EXPECT_EQ(address_bits_of("0,0"), AddressBits{});
  for (const char* wrong :
       {"", "16", "16,", ",1", "16,1,2", "16, 1", "-1,2", "16,1x", "4294967296,1"})
    try {
      address_bits_of(wrong);
      ADD_FAILURE() << wrong;
    } catch (const std::invalid_argument& e) {
      EXPECT_THAT(e.what(), HasSubstr(std::string("'") + wrong + "'"));
      EXPECT_THAT(e.what(), HasSubstr("LOW,COUNT"));
    }
}

TEST(AddressBits, A3_HaveToChooseAmongAllSwitches) {
  EXPECT_EQ(why_unusable({}, 1), "");
  EXPECT_EQ(why_unusable({}, 3), "");
  EXPECT_EQ(why_unusable({12, 1}, 2), "");
  EXPECT_EQ(why_unusable({12, 2}, 3), "");
  EXPECT_EQ(why_unusable({27, 4}, 16), "");
  EXPECT_EQ(why_unusable({12, 1}, 1),
            "address bits 12,1 with one switch in the address; allowed: several switches, or no "
            "address bits");
  EXPECT_EQ(why_unusable({12, 1}, 3),
            "address bits 12,1: a count of 1 for 3 switches; allowed: 2 to 31");
  EXPECT_THAT(why_unusable({12, 0}, 2), HasSubstr("allowed: 1 to 31"));
  EXPECT_THAT(why_unusable({0, 32}, 2), HasSubstr("allowed: 1 to 31"));
  EXPECT_THAT(why_unusable({28, 4}, 2), HasSubstr("allowed: low up to 27"));
  EXPECT_THAT(why_unusable({0xFFFFFFFF, 2}, 2), HasSubstr("allowed: low up to 29"));
}

TEST(AddressBits, A3_BlocksHoldAChunk) {
  EXPECT_EQ(why_too_small({10, 1}, 1024), "");
  EXPECT_EQ(why_too_small({11, 1}, 1032), "");
  EXPECT_EQ(why_too_small({9, 1}, 1024),
            "address bits 9,1: blocks of 2^9 bytes are smaller than the job's chunk_bytes, 1024; "
            "allowed: low 10 or more");
  EXPECT_THAT(why_too_small({10, 1}, 1032), HasSubstr("allowed: low 11 or more"));
}

// Blocks of 32 bytes, two chunks each, over two switches.
TEST(ChunksBySwitch, A3_FollowTheAddress) {
  ChunkedArray array{0x1000, 4, 40, 4, 1};
  const AddressBits bits{5, 1};
  EXPECT_THAT(chunks_by_switch(array, bits, 2),
              ElementsAre(ElementsAre(0, 1, 4, 5, 8, 9), ElementsAre(2, 3, 6, 7)));
  array.address += 32;
  EXPECT_THAT(chunks_by_switch(array, bits, 2),
              ElementsAre(ElementsAre(2, 3, 6, 7), ElementsAre(0, 1, 4, 5, 8, 9)));
  // A chunk belongs to the block in which it begins.
  array.address += 20;
  EXPECT_THAT(chunks_by_switch(array, bits, 2),
              ElementsAre(ElementsAre(1, 2, 5, 6, 9), ElementsAre(0, 3, 4, 7, 8)));
  array.count = 0;
  EXPECT_THAT(chunks_by_switch(array, bits, 2), ElementsAre(IsEmpty(), IsEmpty()));
}

// Three switches: the fourth choice is the first one's again. Each part begins with a chunk.
TEST(ChunksBySwitch, A3_EveryChunkOfEveryPartHasItsSwitch) {
  EXPECT_THAT(chunks_by_switch({0, 8, 5, 2, 2}, {4, 2}, 3),
              ElementsAre(ElementsAre(0, 4, 5), ElementsAre(1), ElementsAre(2, 3)));
}

TEST(ChunksBySwitch, A3_EveryChunkIsSomewhereOnceAndInOrder) {
  Prng random(11);
  for (int i = 0; i < 300; ++i) {
    const std::size_t switches = 2 + random.below(15);
    const AddressBits bits{static_cast<std::uint32_t>(3 + random.below(8)), 4};
    const ChunkedArray array{random.below(1 << 20), std::size_t{1} << random.below(4),
                             random.below(500), 1 + random.below(30), 1 + random.below(3)};
    std::vector<std::uint32_t> together;
    for (const auto& chunks : chunks_by_switch(array, bits, switches)) {
      EXPECT_TRUE(std::is_sorted(chunks.begin(), chunks.end()));
      together.insert(together.end(), chunks.begin(), chunks.end());
    }
    std::sort(together.begin(), together.end());
    const std::size_t all =
        (array.count + array.elements_per_chunk - 1) / array.elements_per_chunk * array.parts;
    ASSERT_EQ(together.size(), all);
    for (std::uint32_t place = 0; place < all; ++place) ASSERT_EQ(together[place], place);
  }
}

}  // namespace
}  // namespace tributary::layout
