// A store in etcd, over a fake whose members can be away, full, or silent about what they did.
#include "manager/etcd/etcd_store.h"

#include <gmock/gmock.h>

#include "manager/service/service.h"
#include "tests/manager/etcd/fake_etcd.h"
#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kLease{30};

// A manager on `members`, which are one etcd.
struct Holder {
  explicit Holder(const std::vector<FakeEtcd*>& members)
      : etcd(address_of(members), {}),
        leadership(try_lead(etcd, {"one", "unix:one"}, kLease).won),
        store(etcd, *leadership),
        writer(store, {""}) {}
  explicit Holder(FakeEtcd& member) : Holder(std::vector{&member}) {}

  static EtcdAddress address_of(const std::vector<FakeEtcd*>& members) {
    EtcdAddress address{{}, "test/"};
    for (FakeEtcd* const member : members) address.endpoints.push_back(member->endpoint());
    return address;
  }
  std::vector<std::uint64_t> commit(const std::vector<Write>& writes) {
    return writer.commit(writes);
  }
  StoreError::Kind kind_of(const std::vector<Write>& writes) {
    try {
      writer.commit(writes);
    } catch (const StoreError& error) {
      return error.kind();
    }
    ADD_FAILURE() << "the commit was taken";
    return StoreError::Kind::gone;
  }

  EtcdConnection etcd;
  std::unique_ptr<Leadership> leadership;
  EtcdStore store;
  Writer writer;
};

TEST(EtcdStoreTimed, ComparesBeforeItSets) {
  FakeEtcd fake;
  Holder holder(fake);
  const auto first = holder.commit({{"a", "1", 0}, {"b", "1", 0}});
  EXPECT_EQ(holder.kind_of({{"c", "1", 0}, {"a", "2", 0}}), StoreError::Kind::conflict);
  EXPECT_FALSE(holder.store.get("c").has_value());  // whole or not at all
  const auto second = holder.commit({{"a", "2", first[0]}});
  EXPECT_GT(second[0], first[0]);
  EXPECT_EQ(holder.store.get("a")->value, "2");
  EXPECT_EQ(holder.commit({{"a", std::nullopt, second[0]}})[0], 0u);
  EXPECT_FALSE(holder.store.get("a").has_value());
  // A key that comes back has a revision that it never had.
  EXPECT_GT(holder.commit({{"a", "3", 0}})[0], second[0]);
}

TEST(EtcdStoreTimed, ListsAPrefixWhateverItsBytesAndOverAllPages) {
  FakeEtcd fake;
  Holder holder(fake);
  const std::string zero("j/\0x", 4);
  holder.commit({{"j/\xff", "1", 0}, {zero, "2", 0}, {"j", "3", 0}, {"k/", "4", 0}});
  const auto listed = holder.store.list("j/");
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].key, zero);
  for (int commit = 0; commit < 6; ++commit) {
    std::vector<Write> writes;
    for (int i = 0; i < 100; ++i)
      writes.push_back({"n/" + std::to_string(commit * 100 + i), "x", 0});
    holder.commit(writes);
  }
  fake.state().page_revisions.clear();
  EXPECT_EQ(holder.store.list("n/").size(), 600u);
  const std::int64_t newest = fake.state().revision;
  EXPECT_THAT(fake.state().page_revisions, testing::ElementsAre(0, newest, newest));
  EXPECT_EQ(holder.store.list("").size(), 604u);
}

TEST(EtcdStoreTimed, TheLargestCommitFitsIntoOneTransaction) {
  FakeEtcd fake;
  Holder holder(fake);
  std::vector<Write> writes;
  for (std::size_t i = 0; i < Store::kMostWrites; ++i)
    writes.push_back({"n/" + std::to_string(i), "x", 0});
  EXPECT_EQ(holder.commit(writes).size(), Store::kMostWrites);
  EXPECT_LE(fake.state().most_writes, 128u);  // etcd's --max-txn-ops
}

TEST(EtcdStoreTimed, AnOlderManagerDecidesNothingMore) {
  FakeEtcd fake;
  Holder old(fake);
  old.commit({{"a", "1", 0}});
  {
    const std::lock_guard lock(fake.state().mutex);
    fake.state().end_lease(1);
  }
  // Its own clock says that it leads still.
  EXPECT_FALSE(old.leadership->is_over());
  EXPECT_EQ(old.kind_of({{"b", "1", 0}}), StoreError::Kind::fenced);
  Holder next(fake);
  EXPECT_GT(next.store.term(), old.store.term());
  EXPECT_EQ(old.kind_of({{"b", "1", 0}}), StoreError::Kind::fenced);
  EXPECT_FALSE(next.store.get("b").has_value());
  EXPECT_EQ(next.store.get("a")->value, "1");
  next.commit({{"b", "2", 0}});
}

TEST(EtcdStoreTimed, ACommitThatWasTakenAndNotAnsweredIsTakenOnce) {
  const auto state = std::make_shared<EtcdState>();
  FakeEtcd first(state);
  FakeEtcd second(state);
  Holder holder({&first, &second});
  const auto revision = holder.commit({{"a", "1", 0}, {"gone", "x", 0}});
  first.set(FakeEtcd::Fault::mute_once);
  const auto told = holder.commit({{"a", "2", revision[0]}, {"gone", std::nullopt, revision[1]}});
  EXPECT_EQ(told[0], holder.store.get("a")->revision);
  EXPECT_EQ(told[1], 0u);
  EXPECT_EQ(holder.store.get("a")->value, "2");
  holder.commit({{"a", "3", told[0]}});
  // One that was not taken, and never could be, is no such commit.
  second.set(FakeEtcd::Fault::mute_once);
  EXPECT_EQ(holder.kind_of({{"a", "4", told[0]}}), StoreError::Kind::conflict);
  EXPECT_EQ(holder.store.get("a")->value, "3");
}

TEST(EtcdStoreTimed, AMemberThatIsAwayIsPassedOver) {
  const auto state = std::make_shared<EtcdState>();
  FakeEtcd first(state);
  FakeEtcd second(state);
  Holder holder({&first, &second});
  first.set(FakeEtcd::Fault::away);
  holder.commit({{"a", "1", 0}});
  EXPECT_EQ(holder.store.get("a")->value, "1");
  second.set(FakeEtcd::Fault::away);
  try {
    holder.commit({{"b", "1", 0}});
    FAIL();
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), StoreError::Kind::gone);
    EXPECT_THAT(error.what(), HasSubstr(first.endpoint() + ": away"));
    EXPECT_THAT(error.what(), HasSubstr(second.endpoint() + ": away"));
  }
  first.set(FakeEtcd::Fault::none);
  EXPECT_FALSE(holder.store.get("b").has_value());
}

TEST(EtcdStoreTimed, AFullStoreSaysSoAndKeepsWhatItHas) {
  FakeEtcd fake;
  Holder holder(fake);
  holder.commit({{"a", "1", 0}});
  {
    const std::lock_guard lock(fake.state().mutex);
    fake.state().full = true;
  }
  EXPECT_EQ(holder.kind_of({{"b", "1", 0}}), StoreError::Kind::full);
  EXPECT_EQ(holder.store.get("a")->value, "1");
}

// What could not be decided is shown nowhere, while etcd is away for reading, too.
TEST(EtcdStoreTimed, T20_AServiceGoesBackToWhatWasDecided) {
  FakeEtcd fake;
  EtcdConnection etcd(Holder::address_of({&fake}), {});
  const auto leadership = try_lead(etcd, {"one", "unix:one"}, kLease).won;
  EtcdStore store(etcd, *leadership);
  Service service(store, {{{.name = "a"}}, {}, assemble(two_level_tree())}, {});
  const auto submit = [&](const std::string& name) {
    service.submit("tenant: a\njob: {name: " + name + ", workers: 2}\n", "job.yaml", {});
  };
  submit("one");
  service.advance({});
  const config::Version version = service.version();
  fake.set(FakeEtcd::Fault::away);
  EXPECT_THROW(submit("two"), StoreError);
  EXPECT_THROW(service.cancel("one", {}, "asked"), StoreError);
  ASSERT_EQ(service.admission().jobs().size(), 1u);
  EXPECT_TRUE(service.admission().jobs().at("one").admitted());
  EXPECT_EQ(service.version(), version);
  fake.set(FakeEtcd::Fault::none);
  submit("two");
  EXPECT_EQ(service.admission().jobs().size(), 2u);
}

}  // namespace
}  // namespace tributary::manager
