// Clients that connect to a node and do not greet, or greet a byte now and then.
#include "tools/poold/connections.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "tests/poold/pool_nodes.h"
#include "tests/testbed/no_descriptors.h"

namespace tributary::poold {
namespace {

constexpr Duration kLong = Duration::seconds(600);

// True if the node ends it, in time.
bool ends(const MessageStream& connection) {
  pollfd end{connection.fd(), POLLIN, 0};
  return poll(&end, 1, 30'000) == 1 && connection.closed();
}

class PoolConnectionsTimed : public PoolNodesTimed {
 protected:
  void start_with(const Connections::Limits& limits) {
    servers_[0] = std::make_unique<NodeServer>(config_, 0, limits);
  }
  std::vector<MessageStream> silent(bool operates, int count) {
    std::vector<MessageStream> all;
    for (int i = 0; i < count; ++i)
      all.push_back(operates ? *MessageStream::connect_unix(operate_socket_of(config_.nodes[0]))
                             : MessageStream::connect(config_.nodes[0].address, kLong));
    return all;
  }
  // True if the node has it in its list still.
  static bool serves(NodeLink& link) {
    try {
      link.lookup({0});
      return true;
    } catch (const StreamError&) {
      return false;
    }
  }
};

TEST_F(PoolConnectionsTimed, ANewcomerReplacesTheOldestThatHasNotGreeted) {
  start_with({4, 4, kLong});
  NodeLink reader = link(0, LinkUse::read);
  const auto readers = silent(false, 20);
  NodeLink newcomer = link(0, LinkUse::read);
  EXPECT_TRUE(ends(readers.front()));
  const auto operators = silent(true, 20);
  NodeLink commands = operate(0);
  EXPECT_EQ(refusal_of(commands, CommandKind::evict).substr(0, 7), "took it");
  EXPECT_TRUE(ends(operators.front()));
  EXPECT_TRUE(serves(reader)) << "what has greeted is never replaced";
  EXPECT_TRUE(serves(newcomer));
}

TEST_F(PoolConnectionsTimed, ReadersLeaveOperatorsTheirPlaces) {
  start_with({2, 1, kLong});
  NodeLink one = link(0, LinkUse::read);
  NodeLink two = link(0, LinkUse::read);
  EXPECT_THROW(link(0, LinkUse::read), StreamError) << "all have greeted";
  NodeLink operates = operate(0);
  EXPECT_EQ(refusal_of(operates, CommandKind::evict).substr(0, 7), "took it");
  EXPECT_TRUE(serves(one));
  EXPECT_TRUE(serves(two));
}

TEST_F(PoolConnectionsTimed, AGreetingHasItsTimeHoweverItComes) {
  start_with({4, 4, Duration::ms(300)});
  for (const bool operates : {false, true}) {
    EXPECT_TRUE(ends(silent(operates, 1).front()));
    const auto drips = silent(operates, 1);
    const std::vector<std::byte> frame = encode(Hello{});
    bool open = true;
    for (std::size_t i = 0; open && i + 1 < frame.size(); ++i) {
      open = send(drips.front().fd(), &frame[i], 1, MSG_NOSIGNAL) == 1;
      pollfd end{drips.front().fd(), POLLIN, 0};
      open = open && poll(&end, 1, 100) == 0;
    }
    EXPECT_FALSE(open);
  }
  EXPECT_TRUE(eventually([this] { return servers_[0]->status().connections == 0; }));
}

TEST_F(PoolConnectionsTimed, ASilentConnectionMakesWayWhereNoDescriptorIsLeft) {
  start_with({16, 4, kLong});
  const auto connections = silent(false, 1);
  ASSERT_TRUE(eventually([this] { return servers_[0]->status().connections == 1; }));
  const std::string port = split_address(config_.nodes[0].address).second;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
  const MessageStream newcomer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const testbed::NoDescriptors none;
  ASSERT_EQ(connect(newcomer.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_TRUE(ends(connections.front()));
  EXPECT_FALSE(newcomer.closed());
}

}  // namespace
}  // namespace tributary::poold
