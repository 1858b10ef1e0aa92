// Who leads: one at a time, the next after a lease or at once, and each with a higher term.
#include "manager/etcd/leadership.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <system_error>
#include <thread>

#include "manager/etcd/campaign.h"
#include "tests/manager/etcd/fake_etcd.h"
#include "tests/pool/no_threads.h"

namespace tributary::manager {
namespace {

constexpr std::chrono::seconds kLease{30};
constexpr std::chrono::seconds kRenewedSoon{6};  // a third is waited for; more is for slow machines

EtcdAddress address_of(const FakeEtcd& fake) {
  return {{fake.endpoint()}, "test/"};
}

// Waits for what a thread is about to do; the limit only ends a test that hangs.
void await(const std::function<bool()>& condition) {
  constexpr std::chrono::seconds kLimit{60};
  const auto until = std::chrono::steady_clock::now() + kLimit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until) throw std::runtime_error("nothing has come");
    std::this_thread::yield();
  }
}

TEST(LeadershipTimed, OneLeadsAndTheOthersKnowWhich) {
  FakeEtcd fake;
  EtcdConnection etcd(address_of(fake), {});
  auto first = try_lead(etcd, {"one", "h1:1"}, kLease);
  ASSERT_TRUE(first.won);
  EXPECT_NO_THROW(first.won->check());
  const auto second = try_lead(etcd, {"two", "h2:2"}, kLease);
  EXPECT_FALSE(second.won);
  EXPECT_EQ(second.leader.name, "one");
  EXPECT_EQ(second.leader.address, "h1:1");
  // One that ends in order is followed at once.
  const std::uint64_t term = first.won->term();
  first.won.reset();
  const auto third = try_lead(etcd, {"two", "h2:2"}, kLease);
  ASSERT_TRUE(third.won);
  EXPECT_GT(third.won->term(), term);
}

TEST(LeadershipTimed, AHostsNameMayBeNoUtf8) {
  FakeEtcd fake;
  EtcdConnection etcd(address_of(fake), {});
  const auto first = try_lead(etcd, {"n\xff", "h1:1"}, kLease);
  ASSERT_TRUE(first.won);
  EXPECT_EQ(try_lead(etcd, {"two", "h2:2"}, kLease).leader.name, "n\xef\xbf\xbd");
}

TEST(LeadershipTimed, NoLeaseIsLeftBehind) {
  FakeEtcd fake;
  EtcdConnection etcd(address_of(fake), {});
  {
    const auto first = try_lead(etcd, {"one", "h1:1"}, kLease);
    const auto second = try_lead(etcd, {"two", "h2:2"}, kLease);
    EXPECT_EQ(fake.state().leases.size(), 1u);
  }
  EXPECT_TRUE(fake.state().leases.empty());
  EXPECT_TRUE(fake.state().keys.empty());
}

TEST(LeadershipTimed, AKeyThatWasPutAndNotAnsweredIsItsOwn) {
  const auto state = std::make_shared<EtcdState>();
  FakeEtcd first(state);
  FakeEtcd second(state);
  EtcdConnection etcd({{first.endpoint(), second.endpoint()}, "test/"}, {});
  first.set(FakeEtcd::Fault::mute_once);
  const auto election = try_lead(etcd, {"one", "h1:1"}, kLease);
  ASSERT_TRUE(election.won);
  EXPECT_EQ(election.won->term(),
            static_cast<std::uint64_t>(state->keys["test/leader"].create_revision()));
}

TEST(LeadershipTimed, EndsByItsOwnClockWhenEtcdIsAway) {
  FakeEtcd fake;
  EtcdConnection etcd(address_of(fake), {});
  fake.set(FakeEtcd::Fault::short_lease);
  const auto election = try_lead(etcd, {"one", "h1:1"}, kLease);
  ASSERT_TRUE(election.won);
  fake.set(FakeEtcd::Fault::away);
  await([&] { return election.won->is_over(); });
  try {
    election.won->check();
    FAIL();
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), StoreError::Kind::fenced);
  }
}

TEST(LeadershipTimed, ItsLeaseIsRenewedUntilItIsNoMore) {
  FakeEtcd fake;
  EtcdConnection etcd(address_of(fake), {});
  const auto election = try_lead(etcd, {"one", "h1:1"}, kRenewedSoon);
  ASSERT_TRUE(election.won);
  const auto renewals = [&] {
    const std::lock_guard lock(fake.state().mutex);
    return fake.state().renewals;
  };
  await([&] { return renewals() > 0; });
  EXPECT_FALSE(election.won->is_over());
  {
    const std::lock_guard lock(fake.state().mutex);
    fake.state().end_lease(1);
  }
  await([&] { return election.won->is_over(); });
}

TEST(LeadershipTimed, OneWhoseKeyWasTakenAwayLeadsNoMore) {
  FakeEtcd fake;
  EtcdConnection etcd(address_of(fake), {});
  const auto election = try_lead(etcd, {"one", "h1:1"}, kRenewedSoon);
  ASSERT_TRUE(election.won);
  {
    const std::lock_guard lock(fake.state().mutex);
    fake.state().keys.clear();
  }
  await([&] { return election.won->is_over(); });
}

// It would lead without a thread that renews the lease.
TEST(LeadershipTimed, NoLeaseIsLeftWhereNoThreadIs) {
  FakeEtcd fake;
  EtcdConnection etcd(address_of(fake), {});
  static_cast<void>(try_lead(etcd, {"one", "h1:1"}, kLease));  // so that gRPC has its threads
  {
    const pool::NoThreads none;
    EXPECT_THROW(static_cast<void>(try_lead(etcd, {"one", "h1:1"}, kLease)), std::system_error);
  }
  const std::lock_guard lock(fake.state().mutex);
  EXPECT_TRUE(fake.state().leases.empty());
  EXPECT_TRUE(fake.state().keys.empty());
}

TEST(CampaignTimed, FollowsUntilTheLeaderIsGone) {
  FakeEtcd fake;
  EtcdConnection etcd(address_of(fake), {});
  auto first = try_lead(etcd, {"one", "h1:1"}, kLease);
  Campaign campaign(etcd);
  EXPECT_FALSE(campaign.state().follows);
  campaign.start({"two", "h2:2"}, kLease);
  await([&] { return campaign.state().follows; });
  EXPECT_EQ(campaign.state().text, "manager one leads, at h1:1");
  fake.set(FakeEtcd::Fault::away);
  await([&] { return !campaign.state().follows; });
  EXPECT_THAT(campaign.state().text, testing::HasSubstr("does not answer"));
  EXPECT_FALSE(campaign.is_won());
  fake.set(FakeEtcd::Fault::none);
  first.won.reset();
  await([&] { return campaign.is_won(); });
  const auto won = campaign.take();
  EXPECT_NO_THROW(won->check());
}

}  // namespace
}  // namespace tributary::manager
