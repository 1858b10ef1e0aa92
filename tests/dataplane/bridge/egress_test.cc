// Frames in several buffers, on their way to ports whose drivers send no chains.
#include "dataplane/bridge/egress.h"

#include <gtest/gtest.h>

#include "tests/dataplane/l2_frame.h"

namespace tributary::dataplane {
namespace {

class ToPorts : public testing::Test {
 protected:
  ToPorts() {
    for (std::size_t port = 0; port < 3; ++port)
      lanes.push_back(std::make_unique<Lane>(sw.port(port), static_cast<std::uint16_t>(port)));
  }
  // A frame of so many bytes in three buffers.
  rte_mbuf* chain(std::size_t bytes) {
    rte_mbuf* head = nullptr;
    for (int part = 0; part < 3; ++part) {
      rte_mbuf* const segment = rte_pktmbuf_alloc(sw.pool());
      const auto length = static_cast<std::uint16_t>(bytes / 3);
      std::memset(rte_pktmbuf_append(segment, length), 'a' + part, length);
      if (head == nullptr)
        head = segment;
      else
        rte_pktmbuf_chain(head, segment);
    }
    return head;
  }
  void send(PortMask to, rte_mbuf* frame, PortMask takes_chains) {
    Egress egress(vlans, lanes, transmitter, sw.pool(), takes_chains);
    egress.send(to, frame, {}, 0);
    transmitter.flush();
  }

  RingSwitch sw{test_config(3)};
  Lanes lanes;
  Transmitter transmitter{lanes, sw.pool()};
  VlanTable vlans{sw.config().ports};
};

TEST_F(ToPorts, AChainBecomesOneBufferWhereItMust) {
  send(6, chain(900), 4);
  Bytes expected(900, std::byte{'a'});
  std::fill(expected.begin() + 300, expected.end(), std::byte{'b'});
  std::fill(expected.begin() + 600, expected.end(), std::byte{'c'});
  for (const std::size_t port : {1u, 2u}) {
    const auto frames = sw.sent_buffers(port);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0]->nb_segs, 1);
    const auto* data = rte_pktmbuf_mtod(frames[0], const std::byte*);
    EXPECT_EQ(Bytes(data, data + frames[0]->data_len), expected);
    rte_pktmbuf_free(frames[0]);
  }
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(ToPorts, AndStaysOneWhereItMay) {
  send(4, chain(900), 4);
  const auto frames = sw.sent_buffers(2);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0]->nb_segs, 3);
  rte_pktmbuf_free(frames[0]);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(ToPorts, WhatFitsNoBufferIsCounted) {
  send(6, chain(3000), 0);
  EXPECT_EQ(lanes[1]->counters.drops.get(DropReason::no_mbuf), 1u);
  EXPECT_EQ(lanes[2]->counters.drops.get(DropReason::no_mbuf), 1u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

}  // namespace
}  // namespace tributary::dataplane
