// Memory of the RDMA front end that `--check` prints, beside what its tables are.
#include "dataplane/rdma/rdma_memory.h"

#include <gtest/gtest.h>

#include "dataplane/rdma/connected/connected_ranks.h"
#include "dataplane/rdma/queue_pairs.h"
#include "dataplane/rdma/rdma_copies.h"
#include "tests/dataplane/rdma/rdma_rank.h"

namespace tributary::dataplane {
namespace {

TEST(RdmaMemory, T19_IsThatOfTheTables) {
  for (const std::uint32_t window : {1u, 8u, 1024u}) {
    const auto config = rdma_config(window);
    const RdmaMemory memory = rdma_memory(config);
    EXPECT_EQ(memory.queue_pairs, 2u);
    EXPECT_EQ(memory.connections, 4u);
    EXPECT_EQ(memory.connection_bytes, ConnectedRanks(config, config, 0, 1).table_bytes());
    EXPECT_EQ(memory.pair_bytes - RdmaCopies::table_bytes(config),
              QueuePairs(config).table_bytes());
  }
}

TEST(RdmaMemory, T19_ConnectionsAreSharedOutAndPairsAreEachLoops) {
  auto config = rdma_config();
  const RdmaMemory one = rdma_memory(config);
  config.lcores = {0, 1};
  const RdmaMemory two = rdma_memory(config);
  EXPECT_EQ(two.connections, one.connections);
  EXPECT_GT(two.pair_bytes, one.pair_bytes);
}

TEST(RdmaMemory, A5_JobsThatHaveNoConnectionsReserveNone) {
  auto config = rdma_config();
  config.jobs[0].shards = 2;
  config.jobs[1].rdma = false;
  EXPECT_EQ(rdma_memory(config).queue_pairs, 1u);
  EXPECT_EQ(rdma_memory(config).connections, 0u);
}

TEST(RdmaMemory, IsDescribedWhereThereIsAny) {
  EXPECT_EQ(describe_rdma(config::SwitchConfig{}), "");
  auto config = rdma_config(1024);
  const std::uint64_t kib = (rdma_memory(config).connection_bytes + 1023) / 1024;
  EXPECT_GT(kib, 4u * 1024 * (18 + 2 * 16) / 1024) << "18 bytes of a chunk, and two results of it";
  const std::string text = describe_rdma(config);
  EXPECT_EQ(text.substr(text.find('(')),
            "(2 queue pairs 1, 4 connections " + std::to_string(kib) + ")\n");
}

}  // namespace
}  // namespace tributary::dataplane
