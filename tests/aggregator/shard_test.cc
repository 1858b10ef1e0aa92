// A shard on its own: handed to another owner in the middle of an op, and what it leaves to the
// engine to decide (protocol rule 16).
#include "aggregator/shard.h"

#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::PacketType;

class ShardTest : public EngineTest {
 protected:
  void build_two_shards() {
    config::JobConfig job = test_job(2);
    job.shards = 2;
    build(test_switch({job}));
    join_all();
  }
  wire::Packet packet(std::uint32_t rank, std::uint32_t seq, std::uint8_t shard) {
    wire::Header h = data_header(rank, seq, 1);
    h.shard = shard;
    return {h, {}, std::as_bytes(std::span(&value_, 1))};
  }
  std::int32_t value_ = 21;
};

// Rule 16: a chunk that was opened under one owner is finished under another, deadline included,
// while the engine goes on with its other shards.
TEST_F(ShardTest, IsHandedOverInTheMiddleOfAnOp) {
  build_two_shards();
  deliver(packet(0, 0, 1), peer(0));
  deliver(packet(0, 1, 1), peer(0));
  const std::unique_ptr<Shard> shard = engine_->hand_over(1);

  Outbox out(16);
  EXPECT_EQ(shard->on_packet(packet(1, 0, 1), peer(1), now_, out).verdict, Verdict::completed);
  ASSERT_EQ(out.items().size(), 1u);
  std::int32_t sum = 0;
  std::memcpy(&sum, out.items()[0].payload.data(), sizeof sum);
  EXPECT_EQ(sum, 42);
  EXPECT_FALSE(shard->expire(now_ + Duration::ms(499), out));
  EXPECT_TRUE(shard->expire(now_ + Duration::ms(500), out));
  EXPECT_EQ(shard->abort_request().chunk.seq, 1u);
  EXPECT_EQ(shard->abort_request().missing, std::vector<std::uint32_t>{1});

  EXPECT_EQ(deliver(packet(0, 0, 0), peer(0)).verdict, Verdict::opened);
}

TEST_F(ShardTest, ComesBackWithAllThatHappenedMeanwhile) {
  build_two_shards();
  std::unique_ptr<Shard> shard = engine_->hand_over(1);
  Outbox out(16);
  shard->on_packet(packet(0, 0, 1), peer(0), now_, out);
  engine_->take_back(std::move(shard));
  EXPECT_EQ(deliver(packet(1, 0, 1), peer(1)).verdict, Verdict::completed);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{42});
  EXPECT_EQ(counters().contributions.get(), 2u);
  EXPECT_EQ(engine_->shard_counters(0, 0)->contributions.get(), 0u);
  EXPECT_EQ(engine_->shard_counters(0, 1)->contributions.get(), 2u);
  EXPECT_EQ(engine_->shard_counters(0, 2), nullptr);
}

TEST_F(ShardTest, LeavesStrangersToTheEngine) {
  build_two_shards();
  const std::unique_ptr<Shard> shard = engine_->hand_over(0);
  Outbox out(16);
  wire::Packet p = packet(0, 0, 0);
  EXPECT_EQ(shard->on_packet(p, peer(1), now_, out).verdict, Verdict::refused);
  p.header.epoch = 7;
  EXPECT_EQ(shard->on_packet(p, peer(0), now_, out).verdict, Verdict::refused);
  p.header.job = 99;
  EXPECT_EQ(shard->on_packet(p, peer(0), now_, out).verdict, Verdict::refused);
  EXPECT_TRUE(out.items().empty());
}

}  // namespace
}  // namespace tributary::aggregator
