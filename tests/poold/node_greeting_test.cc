// Doors of a node: tokens, tenants, and leases that end with their connections (L4).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <list>

#include "pool/link/token.h"
#include "tests/poold/pool_nodes.h"
#include "tools/poold/node_server.h"

namespace tributary::poold {
namespace {

class PoolTenantsTimed : public PoolNodesTimed {
 protected:
  PoolTenantsTimed() {
    for (const char* name : {"one", "other"}) {
      const fs::path token = folder_ / name;
      std::ofstream(token) << "0123456789abcdef-" << name << "\n";
      fs::permissions(token, fs::perms::owner_read | fs::perms::owner_write);
      config_.tenants.push_back({name, token.string()});
    }
  }
  std::string error() {
    try {
      link(0);
      return "none";
    } catch (const StreamError& refused) {
      return refused.what();
    }
  }
};

TEST_F(PoolTenantsTimed, L4TenantsHaveTokensOfTheirOwn) {
  start_all();
  fill_all();
  EXPECT_THAT(error(), testing::HasSubstr("allowed: loaders with `tenant`"));
  for (const char* name : {"one", "other"}) {
    config_.tenant = name;
    Loader loader(config_);
    EXPECT_EQ(load_all(loader), 0);
    EXPECT_EQ(loader.counters().hits, kRecords);
  }
  config_.tenants[1].token_file = config_.tenants[0].token_file;
  EXPECT_THAT(error(), testing::HasSubstr("does not know the pool's token"));
  config_.tenant = "stranger";
  EXPECT_THAT(error(), testing::HasSubstr("has no tenant 'stranger'"));
}

TEST_F(PoolTenantsTimed, L4ATenantTakesNoPlacesOfOthers) {
  Connections::Limits limits;
  limits.readers = 4;
  servers_[0] = std::make_unique<NodeServer>(config_, 0, limits);
  config_.tenant = "one";
  std::list<NodeLink> links;
  links.push_back(link(0, LinkUse::read));
  links.push_back(link(0, LinkUse::operate));
  for (int i = 0; i < 10; ++i)
    EXPECT_THAT(error(), testing::HasSubstr("allowed: an equal share for each tenant"));
  config_.tenant = "other";
  links.push_back(link(0, LinkUse::read));
  links.push_back(link(0, LinkUse::read));
  config_.tenant = "one";
  links.pop_front();
  bool let_in = false;
  EXPECT_TRUE(eventually([&] { return let_in = let_in || error() == "none"; }));
}

class PoolDoorsTimed : public PoolNodesTimed {
 protected:
  PoolDoorsTimed() { config_.cache.lease = Duration::seconds(3600); }  // none ends by time
  MessageStream greeted(std::size_t node, std::uint8_t reads, Welcome& welcome) {
    const ManifestFile manifest(config_.dataset.manifest);
    auto stream = MessageStream::connect(config_.nodes[node].address, Duration::seconds(10));
    Hello hello;
    hello.pool = greeted_name(config_);
    hello.manifest = manifest->fingerprint();
    const auto challenge = stream.ask_for<Challenge>(hello, Duration::seconds(10));
    const std::string token = read_token(config_);
    welcome = stream.ask_for<Welcome>(
        Proof{prove(token, Role::reader, hello.nonce, challenge.nonce), reads},
        Duration::seconds(10));
    return stream;
  }
};

TEST_F(PoolDoorsTimed, L4AConnectionHasOneLeaseAndRenewsNoOthers) {
  start(0);
  Welcome first;
  Welcome second;
  MessageStream one = greeted(0, 1, first);
  MessageStream two = greeted(0, 1, second);
  EXPECT_EQ(servers_[0]->status().leases, 2u);
  // Each unknown number brought another lease, which no connection owned.
  for (std::uint64_t wrong = 1000; wrong < 1100; ++wrong) {
    const auto answer = two.ask_for<Renewed>(Renew{wrong, 0}, Duration::seconds(10));
    EXPECT_EQ(answer.alive, 0);
    EXPECT_NE(answer.lease, first.lease);
  }
  const auto stolen =
      two.ask_for<Renewed>(Renew{first.lease, ~std::uint64_t{0}}, Duration::seconds(10));
  EXPECT_EQ(stolen.alive, 0) << "the other connection's";
  EXPECT_EQ(servers_[0]->status().leases, 2u);
  EXPECT_EQ(one.ask_for<Renewed>(Renew{first.lease, 0}, Duration::seconds(10)).alive, 1);
  Welcome none;
  MessageStream operators = greeted(0, 0, none);
  EXPECT_THROW(operators.ask(Renew{1, 0}, Duration::seconds(10)), StreamError);
  EXPECT_EQ(servers_[0]->status().leases, 2u);
}

TEST_F(PoolDoorsTimed, L4AReaderWhoseLeaseHasEndedConnectsAgain) {
  config_.transport = TransportKind::tcp;
  config_.cache.lease = Duration::ms(1);
  start(0);
  Welcome welcome;
  MessageStream stream = greeted(0, 1, welcome);
  ASSERT_TRUE(eventually([this] { return servers_[0]->status().leases == 0; }));
  EXPECT_THROW(stream.ask(Renew{welcome.lease, 1}, Duration::seconds(10)), StreamError);
}

// Its lease ends after ten lengths, however often it is renewed; nobody else asks for anything.
TEST_F(PoolDoorsTimed, L4AReaderThatReadsNoTableHoldsDroppedMemoryForATime) {
  config_.transport = TransportKind::mapped;
  config_.cache.lease = Duration::ms(50);
  start(0);
  NodeLink operators = operate(0);
  operators.command(CommandKind::fill, 0, kRecords);
  ASSERT_TRUE(eventually([this] { return !servers_[0]->status().fill.running; }));
  Welcome welcome;
  MessageStream reader = greeted(0, 1, welcome);
  operators.command(CommandKind::evict, 0, kRecords);
  std::uint64_t lease = welcome.lease;
  EXPECT_TRUE(eventually([&] {
    lease = reader.ask_for<Renewed>(Renew{lease, 0}, Duration::seconds(10)).lease;
    return servers_[0]->status().waiting_bytes == 0;
  }));
}

TEST_F(PoolDoorsTimed, L4ThoseWhoDoNotReadGetNoKey) {
  start(0);
  Welcome welcome;
  const MessageStream operators = greeted(0, 0, welcome);
  EXPECT_EQ(welcome.key, 0u);
  EXPECT_TRUE(welcome.address.empty());
}

TEST_F(PoolDoorsTimed, L4LeasesOfAClientThatIsKilledEnd) {
  std::array<int, 2> begin{};
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe(begin.data()) + pipe(ready.data()), 0);
  const pid_t child = fork();  // before the node has threads
  char byte = 0;
  if (child == 0) {
    close(begin[1]);
    if (read(begin[0], &byte, 1) != 1) _exit(1);
    std::vector<Welcome> welcomes(20);
    std::vector<MessageStream> streams;
    try {
      for (Welcome& welcome : welcomes) {
        streams.push_back(greeted(0, 1, welcome));
        for (std::uint64_t wrong = 1000; wrong < 1020; ++wrong)
          streams.back().ask(Renew{wrong, 0}, Duration::seconds(10));
      }
    } catch (const std::exception&) {
      _exit(1);
    }
    if (::write(ready[1], &byte, 1) != 1) _exit(1);
    pause();
  }
  start(0);
  ASSERT_EQ(::write(begin[1], &byte, 1), 1);
  close(ready[1]);
  ASSERT_EQ(read(ready[0], &byte, 1), 1) << "the client has failed";
  EXPECT_EQ(servers_[0]->status().leases, 20u);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(eventually([this] { return servers_[0]->status().leases == 0; }))
      << servers_[0]->status().leases << " are left";
  for (const int fd : {begin[0], begin[1], ready[0]}) close(fd);
}

}  // namespace
}  // namespace tributary::poold
