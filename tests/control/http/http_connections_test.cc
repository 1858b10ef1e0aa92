#include "control/http/http_connections.h"

#include <gtest/gtest.h>

namespace tributary::control {
namespace {

Instant at(std::int64_t ms) {
  return Instant::from_ns(ms * 1'000'000);
}

HttpConnections::Limits limits(std::size_t connections) {
  return {connections, Duration::seconds(5), Duration::seconds(10)};
}

TEST(HttpConnections, ARequestHasFiveSecondsHoweverItComes) {
  HttpConnections connections(limits(4));
  connections.accepted(1, at(0));
  connections.accepted(2, at(4000));
  EXPECT_EQ(connections.late(at(4999)), std::nullopt);
  EXPECT_EQ(connections.late(at(5000)), 1) << "bytes that came meanwhile change nothing";
  connections.closed(1);
  connections.asked(2, at(6000));
  EXPECT_EQ(connections.deadline(), at(16'000));
  EXPECT_EQ(connections.late(at(15'999)), std::nullopt);
  EXPECT_EQ(connections.late(at(16'000)), 2) << "a client that takes no answer";
}

TEST(HttpConnections, AConnectionThatIsKeptHasTimeForAnotherRequest) {
  HttpConnections connections(limits(4));
  connections.accepted(1, at(0));
  connections.asked(1, at(4000));
  connections.answered(1, at(8000));
  EXPECT_EQ(connections.deadline(), at(13'000));
  connections.closed(1);
  connections.answered(1, at(9000));  // too late
  EXPECT_EQ(connections.deadline(), Instant::max());
}

TEST(HttpConnections, TheOldestRequestMakesWayAndThenTheOldestAnswer) {
  HttpConnections connections(limits(3));
  for (const int connection : {1, 2, 3}) connections.accepted(connection, at(connection));
  connections.asked(1, at(10));
  EXPECT_TRUE(connections.is_full());
  EXPECT_EQ(connections.replaceable(), 2);
  connections.asked(3, at(20));
  connections.asked(2, at(30));
  EXPECT_EQ(connections.replaceable(), 1);
  connections.closed(1);
  EXPECT_FALSE(connections.is_full());
  EXPECT_EQ(connections.replaceable(), 3);
}

}  // namespace
}  // namespace tributary::control
