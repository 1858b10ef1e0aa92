// Faults, by the state of the chunk that they strike.
#include "sim/check/fault_counter.h"

#include "tests/sim/rules/small_world.h"

namespace tributary::sim {
namespace {

using aggregator::ChunkState;

class FaultCounterTest : public SmallWorld {
 protected:
  FaultCounterTest() {
    build();
    faults_.emplace(run_);
  }
  void lose(wire::PacketType type, std::uint8_t shard = 0) {
    auto header = header_of(type);
    header.shard = shard;
    faults_->count_frame_fault(FaultKind::loss, frame_of(header));
  }
  std::uint64_t unseen(FaultKind kind) {
    const auto& by_state = run_.reach().faults[static_cast<std::size_t>(kind)];
    return by_state[static_cast<std::size_t>(ChunkState::unseen)];
  }

  std::optional<FaultCounter> faults_;
};

TEST_F(FaultCounterTest, CountsFramesOfChunksThatTheSwitchMayHave) {
  lose(wire::PacketType::contribution);
  EXPECT_EQ(unseen(FaultKind::loss), 0u) << "the switch is down";
  world_.start_all();
  lose(wire::PacketType::contribution);
  EXPECT_EQ(unseen(FaultKind::loss), 1u);
  lose(wire::PacketType::join);
  lose(wire::PacketType::contribution, 9);
  EXPECT_EQ(unseen(FaultKind::loss), 1u) << "about no chunk, or about one of no shard";
}

TEST_F(FaultCounterTest, AFaultOfANodeCountsOncePerState) {
  world_.start_all();
  faults_->count_node_fault(FaultKind::switch_pause);
  EXPECT_EQ(unseen(FaultKind::switch_pause), 1u);
}

TEST_F(FaultCounterTest, GarbageStrikesAllChunksOfTheSwitch) {
  world_.start_all();
  faults_->count_hostile(FaultKind::garbage, frame_of(header_of(wire::PacketType::probe)));
  faults_->count_hostile(FaultKind::impersonation, frame_of(header_of(wire::PacketType::probe)));
  EXPECT_EQ(unseen(FaultKind::garbage), 1u);
  EXPECT_EQ(unseen(FaultKind::impersonation), 1u);
}

}  // namespace
}  // namespace tributary::sim
