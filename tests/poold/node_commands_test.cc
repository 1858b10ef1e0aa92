// A node whose threads run short, and the turns that its watchdog looks at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "pool/link/node_link.h"
#include "tests/pool/no_threads.h"
#include "tests/pool/stored_pool.h"
#include "tools/poold/node_server.h"

namespace tributary::poold {
namespace {

using namespace pool;  // all that is tested here

std::string free_address() {
  const int fd = listen_at("127.0.0.1:0");
  sockaddr_in its{};
  socklen_t length = sizeof its;
  getsockname(fd, reinterpret_cast<sockaddr*>(&its), &length);
  close(fd);
  return "127.0.0.1:" + std::to_string(ntohs(its.sin_port));
}

class NodeLimits : public testing::Test {
 protected:
  NodeLimits() {
    PoolNodeConfig& node = config_.nodes[0];
    node.address = free_address();
    node.memory = "/dev/shm/tributary-node-limits-" + std::to_string(getpid());
    server_.emplace(config_, 0);
  }
  ~NodeLimits() override {
    server_.reset();
    std::filesystem::remove(config_.nodes[0].memory);
  }
  NodeLink link() {
    const ManifestFile manifest(config_.dataset.manifest);
    return NodeLink::to_operate(
        {config_.nodes[0].address, "a", config_.name, manifest->fingerprint(), ""},
        {operate_socket_of(config_.nodes[0]), ""});
  }

  const StoredPool pool_{"tributary-node-limits-"};
  PoolConfig config_ = load_pool_config(pool_.config());
  std::optional<NodeServer> server_;
};

TEST_F(NodeLimits, L1FillIsRefusedWhereNoThreadIsLeftAndWorksLater) {
  NodeLink to = link();
  {
    const NoThreads none;
    try {
      to.command(CommandKind::fill, 0, StoredPool::kRecords);
      FAIL() << "filled without a thread";
    } catch (const StreamError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("cannot be filled"));
    }
    EXPECT_THROW(link(), StreamError) << "it would need a thread";
  }
  to.command(CommandKind::fill, 0, StoredPool::kRecords);
  while (server_->status().fill.running) std::this_thread::yield();
  EXPECT_EQ(server_->status().records, StoredPool::kRecords);
}

TEST_F(NodeLimits, L1FillThatLacksRecordsIsReported) {
  server_.reset();
  std::vector<std::string> said;
  server_.emplace(config_, 0, Connections::Limits{},
                  [&said](const std::string& line) { said.push_back(line); });
  const auto fill = [this] {
    link().command(CommandKind::fill, 0, StoredPool::kRecords);
    while (server_->status().fill.running) std::this_thread::yield();
  };
  std::filesystem::rename(pool_.file(7), pool_.file(7).string() + "-away");
  fill();
  EXPECT_THAT(said, testing::ElementsAre(testing::AllOf(
                        testing::StartsWith("tributary-poold: filling ended, records not read: 1:"),
                        testing::HasSubstr("records 7 to 7: "))));
  said.clear();
  std::filesystem::rename(pool_.file(7).string() + "-away", pool_.file(7));
  fill();
  EXPECT_THAT(said, testing::IsEmpty());
}

TEST_F(NodeLimits, TurnsGoOnWhileANodeServesAndIsFilled) {
  const auto await_a_turn = [this] {
    for (const std::uint64_t before = server_->turns(); server_->turns() == before;)
      std::this_thread::yield();
  };
  await_a_turn();
  await_a_turn();
  link().command(CommandKind::fill, 0, StoredPool::kRecords);
  await_a_turn();
  EXPECT_NO_THROW(link().status());
}

}  // namespace
}  // namespace tributary::poold
