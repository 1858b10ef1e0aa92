// A connection whose client's memory a test writes to, and a pool of packet buffers that it may
// not cost one of.
#pragma once

#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <array>
#include <optional>

#include "dataplane/frame/frame_pool.h"
#include "dataplane/memif/memif_connection.h"
#include "tests/dataplane/memif/client_memory.h"
#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {

class RingFixture : public testing::Test {
 protected:
  static constexpr std::uint32_t kBuffers = 1023;
  static constexpr std::size_t kRoom = 2048;  // of a packet buffer

  RingFixture() {
    start_test_eal();
    pool.emplace(PoolSize{
        .buffers = kBuffers, .data_room = RTE_PKTMBUF_HEADROOM + kRoom, .unpadded = false});
  }
  void TearDown() override { EXPECT_EQ(in_use(), 0u); }
  [[nodiscard]] unsigned in_use() const { return rte_mempool_in_use_count(pool->get()); }

  std::optional<FramePool> pool;
  ClientMemory memory;
  MemifConnection connection{memory.offer()};
};

}  // namespace tributary::dataplane
