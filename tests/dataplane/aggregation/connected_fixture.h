// A switch whose loop is turned by hand, with a rank on an RC or UC queue pair and one by UDP.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/dataplane/rdma/connected/rc_rank.h"

namespace tributary::dataplane {

using Values = std::vector<std::int32_t>;
inline constexpr std::uint8_t kAck = 0x1F;
inline constexpr int kDreq = 0x15;  // its attribute

inline config::SwitchConfig connected_config() {
  return rdma_config(4);
}

inline Bytes bytes_of(const Values& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}
inline Values values(std::int32_t first, std::size_t count = 16) {
  Values v(count);
  std::iota(v.begin(), v.end(), first);
  return v;
}

// Of values(1) and values(100).
inline Values sums() {
  Values sum(16);
  for (int i = 0; i < 16; ++i) sum[static_cast<std::size_t>(i)] = 101 + 2 * i;
  return sum;
}

// Rank 0 on a connected queue pair behind port 0, rank 1 by UDP behind port 1.
class ConnectedTest : public testing::Test {
 protected:
  void start(const config::SwitchConfig& config) {
    sw = std::make_unique<RingSwitch>(config);
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      ranks.emplace_back(config, kJob, rank, std::uint16_t{2});
    rc.emplace(ranks[0], kJob, 0);
  }
  void settle(int turns = 4) {
    for (; turns > 0; --turns) {
      sw->now = sw->now + Duration::us(500);
      sw->turn();
    }
  }
  void pass(Duration time) {
    for (Duration passed; passed < time; passed = passed + Duration::ms(5)) {
      sw->now = sw->now + Duration::ms(5);
      sw->turn();
    }
  }
  std::vector<Bytes> inject(const Bytes& frame, std::size_t port = 0) {
    sw->inject(port, frame);
    settle();
    return sw->sent(0);
  }
  void connect() {
    const auto sent = inject(rc->req());
    ASSERT_EQ(sent.size(), 1u);
    ASSERT_TRUE(rc->take_rep(sent[0]));
    EXPECT_TRUE(inject(rc->to_switch(wire::CmAttribute::rtu)).empty());
  }
  // The rank by UDP joins, too.
  void start_epoch() {
    connect();
    sw->inject(1, ranks[1].join(101));
    settle();
    pass(Duration::ms(120));
    for (const Bytes& frame : sw->sent(1))
      if (const auto start = read_packet(frame))
        if (start->packet.header.type == wire::PacketType::start)
          ranks[0].epoch = ranks[1].epoch = start->packet.header.epoch;
    ASSERT_NE(ranks[1].epoch, 0) << "START came";
  }
  void run() {
    ASSERT_NO_FATAL_FAILURE(start_epoch());
    ASSERT_TRUE(sw->sent(0).empty()) << "nothing of it goes to the rank on RC";
  }
  [[nodiscard]] Bytes write(std::uint32_t nth, std::uint64_t offset, const Values& data) const {
    return rc->write(rc->request_psn + nth, offset, bytes_of(data));
  }
  static std::optional<wire::RoceView> only(const std::vector<Bytes>& sent) {
    return sent.size() == 1 ? read_rc(sent[0]) : std::nullopt;
  }
  void expect_answer(const std::vector<Bytes>& sent, std::uint8_t syndrome,
                     std::uint32_t nth) const {
    const auto view = only(sent);
    ASSERT_TRUE(view) << sent.size();
    EXPECT_EQ(view->bth.qpn, RdmaRank::kQpn);
    EXPECT_EQ(view->aeth.syndrome, syndrome);
    EXPECT_EQ(view->bth.psn, psn_after(rc->request_psn, nth));
  }
  void expect_dropped(const Bytes& frame, DropReason reason, std::size_t port = 0) {
    const auto before = sw->drops(port, reason);
    EXPECT_TRUE(inject(frame, port).empty()) << "neither ACK nor NAK";
    EXPECT_EQ(sw->drops(port, reason), before + 1) << drop_label(reason);
  }
  // True if the switch has ended the connection since sent() was called last.
  [[nodiscard]] bool has_disconnected() {
    const auto sent = sw->sent(0);
    return std::any_of(sent.begin(), sent.end(),
                       [](const Bytes& frame) { return RcRank::attribute_of(frame) == kDreq; });
  }
  // The UDP rank's part of op `op`, whose result may go to the rank on RC.
  std::vector<Bytes> contribute(std::uint32_t op, const Values& data) {
    return inject(ranks[1].contribution(op, data), 1);
  }
  void expect_result(const std::vector<Bytes>& sent, std::uint32_t op, const Values& sum) {
    const auto view = only(sent);
    ASSERT_TRUE(view) << sent.size();
    EXPECT_EQ(view->bth.opcode, wire::roce_opcode(wire::RoceTransport::rc,
                                                  wire::RoceOperation::write_only_immediate));
    EXPECT_EQ(view->bth.qpn, RdmaRank::kQpn);
    EXPECT_EQ(view->bth.psn, psn_after(RcRank::kPsn, op));
    EXPECT_EQ(view->immediate, op);
    EXPECT_EQ(view->reth.address, RcRank::kRing + op % (2 * rc->grant.ops) * 64);
    EXPECT_EQ(view->reth.rkey, RcRank::kRingKey);
    EXPECT_EQ(Bytes(view->payload.begin(), view->payload.end()), bytes_of(sum));
  }
  const Connection* connection() {
    const Connection* found = nullptr;
    sw->packet_loop().connections().each([&](const Connection& c) { found = &c; });
    return found;
  }
  [[nodiscard]] std::uint64_t completions() const {
    return sw->packet_loop().engine().counters(0).completions.get();
  }

  std::unique_ptr<RingSwitch> sw;
  std::vector<TestWorker> ranks;
  std::optional<RcRank> rc;
};

}  // namespace tributary::dataplane
