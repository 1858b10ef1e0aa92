#include "dataplane/frame/own_pool.h"

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "config/model/devargs.h"
#include "config/plan/own_buffers.h"
#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {
namespace {

constexpr PoolSize kSize{2047, 2304};
constexpr unsigned kKept = 64;

class OwnPoolTest : public testing::Test {
 protected:
  std::unique_ptr<OwnPool> make() {
    auto pool = std::make_unique<OwnPool>(kSize, config::kAnySocket);
    // As a driver does that never gives them back.
    EXPECT_EQ(rte_pktmbuf_alloc_bulk(pool->pool().get(), kept_.data(), kKept), 0);
    pool->note_kept();
    return pool;
  }

  RingSwitch dpdk_{test_config(1)};
  std::array<rte_mbuf*, kKept> kept_{};
};

// C1: what the driver keeps goes with the pool, once the port's frames have come back.
TEST_F(OwnPoolTest, C1_GoesWhenAllButTheDriversBuffersAreBack) {
  auto pool = make();
  rte_mbuf* const frame = rte_pktmbuf_alloc(pool->pool().get());
  EXPECT_FALSE(pool->look_whether_back());
  EXPECT_FALSE(pool->look_whether_back());
  rte_pktmbuf_free(frame);
  EXPECT_FALSE(pool->look_whether_back()) << "one look may have counted a buffer twice";
  EXPECT_TRUE(pool->look_whether_back());
}

TEST_F(OwnPoolTest, C1_ARetiredPoolWaitsForItsFrames) {
  auto pool = make();
  rte_mbuf* const frame = rte_pktmbuf_alloc(pool->pool().get());
  OwnPool::retire(std::move(pool));
  EXPECT_EQ(OwnPool::sweep(), 1u);
  rte_pktmbuf_free(frame);
  OwnPool::sweep();
  EXPECT_EQ(OwnPool::sweep(), 0u);
}

// Its port could not be set up: no frame of it was ever anywhere.
TEST_F(OwnPoolTest, C1_APoolWhosePortNeverRanGoesAtOnce) {
  auto pool = std::make_unique<OwnPool>(kSize, config::kAnySocket);
  EXPECT_EQ(rte_pktmbuf_alloc_bulk(pool->pool().get(), kept_.data(), kKept), 0);
  OwnPool::retire(std::move(pool));
  EXPECT_EQ(OwnPool::sweep(), 0u);
  for (int again = 0; again < 100; ++again) OwnPool::retire(make());
  EXPECT_EQ(OwnPool::sweep(), 0u);
}

// af_xdp's driver gives the kernel as many bytes as all buffers have, from the first one on.
TEST_F(OwnPoolTest, C1_BuffersAreOfAPageAndWithoutGapsBetween) {
  const FramePool pool(size_own_pool(kSize.buffers));
  std::vector<std::uintptr_t> at;
  rte_mempool_obj_iter(
      pool.get(),
      [](rte_mempool*, void* all, void* buffer, unsigned) {
        static_cast<std::vector<std::uintptr_t>*>(all)->push_back(
            reinterpret_cast<std::uintptr_t>(buffer));
      },
      &at);
  std::sort(at.begin(), at.end());
  ASSERT_EQ(at.size(), kSize.buffers);
  for (std::size_t i = 0; i < at.size(); ++i)
    ASSERT_EQ(at[i] - at[0], i * config::kOwnBufferBytes) << i;
  EXPECT_EQ(rte_mempool_calc_obj_size(pool.get()->elt_size, pool.get()->flags, nullptr),
            config::kOwnBufferBytes);
  // Behind XDP_PACKET_HEADROOM. The kernel silently drops what does not fit.
  const std::size_t most = config::parse_devargs("net_af_xdp0,iface=a").kind->most_mtu;
  EXPECT_LE(most + wire::kEthernetBytes + wire::kVlanBytes, pool.data_bytes() - 256);
}

}  // namespace
}  // namespace tributary::dataplane
