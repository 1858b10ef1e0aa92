#include "aggregator/names/pending_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/net/udp_peer.h"

namespace tributary::aggregator {
namespace {

using Ask = PendingTable::Ask;

PendingTable::Asker asker(std::uint16_t port, std::uint32_t host = 1) {
  return {wire::UdpPeer(port, 4000, host), false};
}

class Pending : public testing::Test {
 protected:
  Ask ask(const std::string& name, const PendingTable::Asker& who, bool may_open = true) {
    return table_.ask(name, name.size(), 7, who, may_open, now_);
  }
  std::vector<PendingTable::Asker> release(const std::string& name) {
    std::vector<PendingTable::Asker> all;
    table_.release(name, name.size(), [&](const PendingTable::Asker& who) { all.push_back(who); });
    return all;
  }

  PendingTable table_{4};
  Instant now_;
};

// C4: one request for all who ask.
TEST_F(Pending, OneRequestGoesOn) {
  EXPECT_EQ(ask("/a", asker(0)), Ask::opened);
  EXPECT_EQ(ask("/a", asker(1)), Ask::waits);
  EXPECT_EQ(ask("/a", asker(0)), Ask::waits);
  EXPECT_EQ(ask("/b", asker(0)), Ask::opened);  // the same hash
  EXPECT_EQ(release("/a").size(), 2u);
  EXPECT_TRUE(release("/a").empty());
  EXPECT_EQ(release("/b").size(), 1u);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(Pending, WhoAsksAgainHasItSentAgain) {
  ask("/a", asker(0));
  now_ = now_ + PendingTable::kResend;
  EXPECT_EQ(ask("/a", asker(1)), Ask::waits);  // asks for the first time
  EXPECT_EQ(ask("/a", asker(0)), Ask::send);
  EXPECT_EQ(ask("/a", asker(1)), Ask::waits);  // just sent
  EXPECT_EQ(release("/a").size(), 2u);
}

// C4: a full table refuses; nothing queues.
TEST_F(Pending, IsBounded) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ask("/" + std::string(i + 1u, 'x'), asker(0)), Ask::opened);
  EXPECT_EQ(ask("/more", asker(0)), Ask::full);
  release("/x");
  EXPECT_EQ(ask("/more", asker(0), false), Ask::full);  // the job's share
  EXPECT_EQ(ask("/more", asker(0)), Ask::opened);
}

TEST_F(Pending, APortHasHalfOfTheAskersAtMost) {
  std::uint32_t host = 1;
  for (; host <= 8; ++host) ASSERT_NE(ask("/a", asker(0, host)), Ask::full) << host;
  EXPECT_EQ(ask("/a", asker(0, host)), Ask::full);
  EXPECT_EQ(ask("/a", asker(1, host)), Ask::waits);
  EXPECT_EQ(release("/a").size(), 9u);
  EXPECT_EQ(ask("/a", asker(0, host)), Ask::opened);
}

TEST_F(Pending, WaitsForALimitedTime) {
  ask("/a", asker(0));
  now_ = now_ + PendingTable::kLifetime - Duration::ns(1);
  ask("/b2", asker(0));
  EXPECT_EQ(table_.expire(now_), 0u);
  now_ = now_ + Duration::ns(1);
  EXPECT_EQ(table_.expire(now_), 7u);
  EXPECT_EQ(table_.expire(now_), 0u);
  EXPECT_FALSE(table_.has("/a", 2));
  EXPECT_TRUE(table_.has("/b2", 3));
}

}  // namespace
}  // namespace tributary::aggregator
