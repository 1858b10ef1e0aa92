#include "aggregator/chunk/chunk_look.h"

#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

class ChunkLookTest : public EngineTest {
 protected:
  [[nodiscard]] ChunkLook look(std::uint32_t seq) const {
    return engine_->look(data_header(0, seq, 1));
  }
};

TEST_F(ChunkLookTest, FollowsAChunkThroughItsLife) {
  build();
  join_all();
  EXPECT_TRUE(look(1).known);
  EXPECT_EQ(look(1).state, ChunkState::unseen);
  EXPECT_EQ(look(1).slot, ChunkLook::kNoSlot);
  contribute(2, 1, {5});
  contribute(0, 1, {5});
  EXPECT_EQ(look(1).state, ChunkState::open);
  EXPECT_EQ(look(1).arrived, 2);
  EXPECT_EQ(look(1).fan_in, 3);
  EXPECT_EQ(look(1).children, 0b101u);
  EXPECT_EQ(look(1).slot, 1u);
  contribute(1, 1, {5});
  EXPECT_EQ(look(1).state, ChunkState::complete);
  EXPECT_EQ(look(1).children, 0b111u);
  EXPECT_EQ(look(1).slot, ChunkLook::kNoSlot);
}

TEST_F(ChunkLookTest, TellsTheFirst64OfMoreChildren) {
  build(70);
  join_all();
  contribute(63, 0, {1});
  contribute(69, 0, {1});
  EXPECT_EQ(look(0).arrived, 2);
  EXPECT_EQ(look(0).fan_in, 70);
  EXPECT_EQ(look(0).children, std::uint64_t{1} << 63);
}

TEST_F(ChunkLookTest, KnowsNothingOfWhatNamesNoChunkHere) {
  build();
  join_all();
  contribute(0, 0, {1});
  EXPECT_FALSE(engine_->look(header(wire::PacketType::join, 0)).known);
  EXPECT_FALSE(engine_->look(header(wire::PacketType::lease, 0)).known);
  wire::Header h = data_header(0, 0, 1);
  ASSERT_TRUE(engine_->look(h).known);
  h.type = wire::PacketType::ack;  // its seq is the first that is not held
  EXPECT_FALSE(engine_->look(h).known);
  h = data_header(0, 0, 1);
  h.job = 99;
  EXPECT_FALSE(engine_->look(h).known);
  h = data_header(0, 0, 1);
  h.shard = 200;
  EXPECT_FALSE(engine_->look(h).known);
  h = data_header(0, 0, 1);
  h.epoch = static_cast<std::uint16_t>(h.epoch + 1);
  EXPECT_FALSE(engine_->look(h).known);
  h = data_header(0, 0, 1);
  h.stream = 1;
  EXPECT_FALSE(engine_->look(h).known);
}

}  // namespace
}  // namespace tributary::aggregator
