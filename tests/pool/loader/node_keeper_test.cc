// Nodes that are slow, or do not answer: batches go on without them.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <thread>

#include "pool/link/stream.h"
#include "pool/link/token.h"
#include "pool/loader/loader.h"
#include "tests/pool/stored_pool.h"

namespace tributary::pool {
namespace {

constexpr Duration kSoon = Duration::seconds(10);

// A node that greets as it must. Then `answer` has the connection and each request.
class SlowNode {
 public:
  using Answer = std::function<void(MessageStream&, const Message&)>;
  explicit SlowNode(Answer answer)
      : answer_(std::move(answer)),
        listener_(listen_at("127.0.0.1:0")),
        thread_([this] { serve(); }) {}
  ~SlowNode() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  SlowNode(const SlowNode&) = delete;
  SlowNode& operator=(const SlowNode&) = delete;

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
        Welcome welcome;
        welcome.node = "a";
        welcome.transport = "tcp";
        sockaddr_in data{};
        data.sin_family = AF_INET;
        data.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        data.sin_port = htons(1);
        const auto bytes = std::as_bytes(std::span(&data, 1));
        welcome.address.assign(bytes.begin(), bytes.end());
        welcome.bytes = 1 << 20;
        welcome.lease_ms = 30;
        stream.send(welcome, kSoon);
        while (const auto request = stream.receive(kSoon)) answer_(stream, *request);
      } catch (const std::exception&) {
        // The loader has closed the connection.
      }
    }
  }

  const Answer answer_;
  const int listener_;
  std::thread thread_;
};

PoolConfig with_node(const StoredPool& pool, const SlowNode& node) {
  PoolConfig config = load_pool_config(pool.config());
  config.nodes[0].address = node.address();
  return config;
}

bool loads(Loader& loader, std::uint64_t id) {
  std::vector<std::byte> target(loader.length(id));
  loader.get_into(id, target);
  const std::string text = StoredPool::text(id);
  return std::equal(target.begin(), target.end(), std::as_bytes(std::span(text)).begin());
}

void send_bytewise(const MessageStream& stream, const Message& message) {
  for (const std::byte each : encode(message))
    if (send(stream.fd(), &each, 1, MSG_NOSIGNAL) != 1) throw StreamError("closed");
}

// Its table comes a byte at a time, and never ends.
TEST(PoolSlowNodeTimed, L1TableThatNeverEndsStopsNoBatch) {
  const StoredPool pool("tributary-endless-table-");
  const SlowNode node([](MessageStream& stream, const Message& request) {
    if (const auto* const renew = std::get_if<Renew>(&request))
      return stream.send(Renewed{1, renew->lease, 1}, kSoon);
    Entries entries;
    entries.more = 1;
    entries.records.push_back({StoredPool::kRecords, 0, 8, 1});
    for (;;) send_bytewise(stream, entries);
  });
  Loader loader(with_node(pool, node));
  for (std::uint64_t id = 0; id < StoredPool::kRecords; ++id) EXPECT_TRUE(loads(loader, id)) << id;
  EXPECT_EQ(loader.counters().misses, StoredPool::kRecords);
  EXPECT_FALSE(loader.nodes().at(0).up);
}

// It says nothing after its greeting, like a process that was stopped.
TEST(PoolSlowNodeTimed, L1NodeThatDoesNotAnswerStopsNoBatch) {
  const StoredPool pool("tributary-silent-node-");
  std::atomic<bool> silent{false};
  const SlowNode node([&silent](MessageStream& stream, const Message& request) {
    if (std::holds_alternative<TableRequest>(request)) return stream.send(Entries{}, kSoon);
    const auto* const renew = std::get_if<Renew>(&request);
    if (silent || renew == nullptr) return;
    stream.send(Renewed{0, renew->lease, 1}, kSoon);
  });
  Loader loader(with_node(pool, node));
  ASSERT_TRUE(loader.nodes().at(0).up) << loader.nodes().at(0).problem;
  silent = true;
  for (std::uint64_t id = 0; id < StoredPool::kRecords; ++id) EXPECT_TRUE(loads(loader, id)) << id;
  EXPECT_EQ(loader.counters().node_failures, 0u) << "no batch has waited for its answer";
}

}  // namespace
}  // namespace tributary::pool
