// Nodes that know the token and send what means nothing: the loader names the node and the field,
// and reads from the store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

#include "core/utf8.h"
#include "pool/link/stream.h"
#include "pool/link/token.h"
#include "pool/loader/loader.h"
#include "tests/pool/stored_pool.h"

namespace tributary::pool {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr Duration kSoon = Duration::seconds(10);

// A node that greets as it must, and then answers as a test says.
class LyingNode {
 public:
  LyingNode(Message welcome, Message table)
      : welcome_(std::move(welcome)),
        table_(std::move(table)),
        listener_(listen_at("127.0.0.1:0")),
        thread_([this] { serve(); }) {}
  ~LyingNode() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  LyingNode(const LyingNode&) = delete;
  LyingNode& operator=(const LyingNode&) = delete;

  [[nodiscard]] std::string address() const {
    sockaddr_in its{};
    socklen_t length = sizeof its;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&its), &length);
    return "127.0.0.1:" + std::to_string(ntohs(its.sin_port));
  }

 private:
  void serve() {
    for (;;) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      MessageStream stream(fd);
      try {
        const auto hello = std::get<Hello>(stream.receive(kSoon).value());
        Challenge challenge{draw_nonce(), {}};
        challenge.proof = prove("", Role::node, hello.nonce, challenge.nonce);
        stream.send(challenge, kSoon);
        stream.receive(kSoon);
        stream.send(welcome_, kSoon);
        while (const auto request = stream.receive(kSoon)) {
          const auto* const renew = std::get_if<Renew>(&*request);
          stream.send(renew == nullptr ? table_ : Renewed{0, renew->lease, 1}, kSoon);
        }
      } catch (const std::exception&) {
        // The loader has closed the connection.
      }
    }
  }

  const Message welcome_;
  const Message table_;
  const int listener_;
  std::thread thread_;
};

// What a loader says of a node that answers so; it must load from the store all the same.
std::string problem_of(const Message& welcome, const Message& table = Entries{}) {
  const StoredPool pool("tributary-lying-node-");
  const LyingNode node(welcome, table);
  PoolConfig config = load_pool_config(pool.config());
  config.nodes[0].address = node.address();
  Loader loader(config);
  const NodeState state = loader.nodes().at(0);
  EXPECT_FALSE(state.up);
  EXPECT_TRUE(is_utf8(state.problem)) << state.problem;
  EXPECT_THAT(state.problem, HasSubstr("node a at " + node.address()));
  std::vector<std::byte> target(loader.length(7));
  loader.get_into(7, target);
  EXPECT_EQ(loader.counters().misses, 1u);
  return state.problem;
}

Welcome welcome(const std::string& transport, std::size_t address_bytes) {
  Welcome out;
  out.node = "a";
  out.transport = transport;
  out.address.resize(address_bytes, std::byte{0xFF});
  out.bytes = 1 << 20;
  return out;
}

TEST(PoolLyingNodeTimed, UnknownTransportIsNamed) {
  EXPECT_THAT(problem_of(welcome("pigeon", 16)),
              AllOf(HasSubstr("'transport' is 'pigeon'"), HasSubstr("allowed: verbs, mapped")));
  EXPECT_THAT(problem_of(welcome("", 16)), HasSubstr("'transport' is ''"));
  EXPECT_THAT(problem_of(welcome("auto", 16)), HasSubstr("'transport' is 'auto'"));
  EXPECT_THAT(problem_of(welcome("\xFFmapped", 16)), HasSubstr("'transport' is '?mapped'"));
}

TEST(PoolLyingNodeTimed, AddressesThatMeanNothingAreNamed) {
  for (const char* transport : {"verbs", "mapped", "tcp", "shm"})
    EXPECT_THAT(problem_of(welcome(transport, 0)), HasSubstr("'address' is empty")) << transport;
  for (const char* transport : {"tcp", "shm"})
    for (const std::size_t bytes : {1u, 8u, 16u, 64u})
      EXPECT_THAT(problem_of(welcome(transport, bytes)), HasSubstr("'address' means nothing"))
          << transport << ' ' << bytes;
}

// The port of its data takes connections, and no process answers there: no read is ever posted.
TEST(PoolLyingNodeTimed, L1NodeWhoseDataPortIsDeadIsGivenUp) {
  const StoredPool pool("tributary-dead-port-");
  PoolConfig config = load_pool_config(pool.config());
  const int dead = listen_at("127.0.0.1:0");
  sockaddr_in its{};
  socklen_t length = sizeof its;
  getsockname(dead, reinterpret_cast<sockaddr*>(&its), &length);
  Welcome greeting = welcome("tcp", 0);
  const auto bytes = std::as_bytes(std::span(&its, 1));
  greeting.address.assign(bytes.begin(), bytes.end());
  Entries table;
  table.records.push_back({7, 0, 8, 1});
  table.generation = 1;
  const LyingNode node(greeting, table);
  config.nodes[0].address = node.address();
  Loader loader(config);
  ASSERT_TRUE(loader.nodes().at(0).up) << loader.nodes().at(0).problem;
  std::vector<std::byte> target(loader.length(7));
  loader.get_into(7, target);
  EXPECT_EQ(loader.counters().misses, 1u);
  EXPECT_EQ(loader.counters().node_failures, 1u);
  close(dead);
}

TEST(PoolLyingNodeTimed, TextThatIsNotUtf8IsNamed) {
  Welcome stranger = welcome("tcp", 16);
  stranger.node = "\xC3(";
  EXPECT_THAT(problem_of(stranger), HasSubstr("'node' is not UTF-8"));
  EXPECT_THAT(problem_of(Failure{"no \xFF for you"}), HasSubstr("no ? for you"));
}

}  // namespace
}  // namespace tributary::pool
