#include "worker/session/missing_ranks.h"

#include <gmock/gmock.h>

#include <numeric>
#include <vector>

#include "core/wire/extension.h"

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MissingRanksTest : public ::testing::Test {
 protected:
  wire::Packet pending(const std::vector<std::uint32_t>& ids, std::uint32_t op = 0,
                       std::uint32_t chunk = 0) {
    wire::ExtensionWriter writer(room);
    EXPECT_TRUE(ids.empty() || writer.add_missing_ids(ids));
    wire::Packet p;
    p.header.type = wire::PacketType::pending;
    p.header.op = op;
    p.header.chunk = chunk;
    p.extensions = writer.bytes();
    return p;
  }

  std::array<std::byte, 2048> room{};
  MissingRanks missing;
};

TEST_F(MissingRanksTest, KnowsNothingAtFirst) {
  EXPECT_THAT(missing.get(), IsEmpty());
  EXPECT_FALSE(missing.chunk_of(0));
}

TEST_F(MissingRanksTest, NamesTheChunkOfTheOpThatLacksThem) {
  missing.set(pending({2, 7}, 5, 3), {});
  EXPECT_THAT(missing.get(), ElementsAre(2u, 7u));
  EXPECT_EQ(missing.chunk_of(5), 3u);
  EXPECT_FALSE(missing.chunk_of(4));
}

TEST_F(MissingRanksTest, NamesTheOnlySenderWhereTheSwitchNamesNobody) {
  missing.set(pending({}, 5, 0), 4);
  EXPECT_THAT(missing.get(), ElementsAre(4u));
  missing.set(pending({1}, 5, 0), 4);
  EXPECT_THAT(missing.get(), ElementsAre(1u));
  missing.set(pending({}, 5, 0), {});
  EXPECT_THAT(missing.get(), IsEmpty());
}

// Ranks that give up are missing from then on; those that never came are the cause.
TEST_F(MissingRanksTest, WhileJoiningThoseThatNeverCameStayNamed) {
  missing.narrow(pending({2, 3}));
  missing.narrow(pending({1, 3}));
  EXPECT_THAT(missing.get(), ElementsAre(3u));
  missing.narrow(pending({1}));  // 3 has come
  EXPECT_THAT(missing.get(), ElementsAre(1u));
  missing.narrow(pending({}));
  EXPECT_THAT(missing.get(), IsEmpty());
}

TEST_F(MissingRanksTest, HoldsAsManyAsAPacketNames) {
  std::vector<std::uint32_t> all(MissingRanks::kMost);
  std::iota(all.begin(), all.end(), 0u);
  missing.narrow(pending(all));
  EXPECT_EQ(missing.get().size(), MissingRanks::kMost);
  missing.set(pending(all, 1, 0), {});
  EXPECT_EQ(missing.get().back(), MissingRanks::kMost - 1);
}

}  // namespace
}  // namespace tributary::worker
