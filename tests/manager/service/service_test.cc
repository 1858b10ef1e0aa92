// Admission over a store: managers that follow each other at any instant, and stores that fail.
#include "manager/service/service.h"

#include <gmock/gmock.h>

#include <memory>

#include "manager/store/sqlite_store.h"
#include "tests/manager/store/scratch.h"
#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using testing::HasSubstr;

std::string request(const std::string& name, int workers) {
  return "tenant: a\njob:\n  name: " + name + "\n  workers: " + std::to_string(workers) + "\n";
}

Service::Setup setup_of(const Inventory& inventory) {
  return {{{.name = "a"}}, {}, assemble(inventory)};
}

// One manager on one store; each new one follows the last.
struct Manager {
  explicit Manager(const std::string& file, std::uint32_t pages = 0, std::uint32_t slots = 128)
      : store(file, pages), service(store, setup(slots), {}) {}
  Manager(const std::string& file, const Inventory& inventory)
      : store(file), service(store, setup_of(inventory), {}) {}
  static Service::Setup setup(std::uint32_t slots) {
    Inventory inventory = two_level_tree();
    for (auto& sw : inventory.switches) sw.slots = slots;
    return setup_of(inventory);
  }
  void submit(const std::string& name, int workers) {
    EXPECT_EQ(service.submit(request(name, workers), "job.yaml", {}).outcome, Outcome::queued);
    service.advance({});
  }
  [[nodiscard]] std::uint32_t id(const std::string& name) const {
    return service.admission().jobs().at(name).id;
  }

  SqliteStore store;
  Service service;
};

// What the switch of that name is told, by its own code.
config::SwitchConfig told(const Service& service, const std::string& node) {
  const auto assigned = config::parse_assigned(service.document(node), "assigned");
  for (const auto& sw : service.admission().topology().switches)
    if (sw.config.name == node) return config::merged(sw.config, assigned);
  return {};
}

TEST(Service, SwitchesAreToldOfTheJobsThatRun) {
  const Scratch scratch;
  Manager manager(scratch.file());
  const auto before = manager.service.version();
  manager.submit("all", 5);
  EXPECT_GT(manager.service.version(), before);
  for (const char* node : {"root", "A", "B"}) {
    const auto config = told(manager.service, node);
    ASSERT_EQ(config.jobs.size(), 1u) << node;
    EXPECT_EQ(config.jobs[0].id, manager.id("all"));
  }
  manager.service.cancel("all", {}, "asked");
  EXPECT_TRUE(told(manager.service, "A").jobs.empty());
  EXPECT_THROW((void)manager.service.document("C"), std::invalid_argument);
}

TEST(Service, AFollowingManagerKnowsAsMuch) {
  const Scratch scratch;
  auto first = std::make_unique<Manager>(scratch.file());
  first->submit("one", 5);
  first->submit("two", 5);
  first->submit("waits", 5);
  const std::uint32_t one = first->id("one");
  const Amount used = first->service.admission().amounts().used_at("root");
  const auto version = first->service.version();
  first->service.cancel("two", {}, "asked");
  first.reset();  // as if killed before it could advance
  Manager next(scratch.file());
  EXPECT_GT(next.service.version(), version);
  EXPECT_EQ(next.id("one"), one);
  EXPECT_EQ(next.id("waits"), 0u);
  next.service.advance({});
  EXPECT_GT(next.id("waits"), 2u);  // the id of a job that ended rests
  EXPECT_EQ(next.service.admission().amounts().used_at("root"), used);
}

TEST(Service, AnOlderManagerDecidesNothingMore) {
  const Scratch scratch;
  Manager old(scratch.file());
  old.submit("one", 2);
  delete_lock(scratch.file());
  Manager next(scratch.file());
  EXPECT_THROW(old.service.submit(request("two", 2), "job.yaml", {}), StoreError);
  EXPECT_EQ(old.service.admission().jobs().size(), 1u);
  EXPECT_EQ(next.service.admission().jobs().size(), 1u);
  EXPECT_GT(next.service.version().term, old.service.version().term);
}

TEST(Service, AFullStoreTakesNoJobAndLosesNone) {
  const Scratch scratch;
  Manager manager(scratch.file(), 12, 4096);
  std::size_t taken = 0;
  try {
    for (;; ++taken) {
      ASSERT_LT(taken, 1000u);
      manager.service.submit(request("job-" + std::to_string(taken), 2), "job.yaml", {});
    }
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), StoreError::Kind::full);
  }
  EXPECT_GT(taken, 0u);
  EXPECT_EQ(manager.service.admission().jobs().size(), taken);
  manager.service.cancel("job-0", {}, "asked");
  EXPECT_EQ(manager.service.admission().jobs().size(), taken - 1);
}

TEST(Service, ASwitchThatRefusesGetsNoMoreThanItHas) {
  const Scratch scratch;
  Manager manager(scratch.file());
  manager.submit("one", 5);
  manager.submit("two", 5);
  manager.service.switch_refused("A", "two", {}, "memory is in pieces");
  manager.service.advance({});
  EXPECT_EQ(manager.id("two"), 0u);
  EXPECT_NE(manager.id("one"), 0u);
  EXPECT_EQ(told(manager.service, "A").jobs.size(), 1u);
}

TEST(Service, ASwitchThatWasBusyIsAskedAgain) {
  const Scratch scratch;
  Manager manager(scratch.file());
  manager.submit("one", 5);
  const auto seconds = [](int count) { return Instant() + Duration::seconds(count); };
  manager.service.switch_refused("A", "one", {}, "busy");
  manager.service.advance({});
  EXPECT_EQ(manager.id("one"), 0u) << "not at once";
  manager.service.advance(seconds(3));
  EXPECT_EQ(manager.id("one"), 0u);
  manager.service.advance(seconds(4));
  EXPECT_NE(manager.id("one"), 0u) << "nothing else runs: no end of a job brings its turn";
  // Each refusal doubles the rest.
  manager.service.switch_refused("A", "one", seconds(4), "busy");
  manager.service.advance(seconds(11));
  EXPECT_EQ(manager.id("one"), 0u);
  // A job that comes meanwhile waits, and is not refused for good.
  EXPECT_EQ(manager.service.submit(request("two", 5), "f", seconds(11)).outcome, Outcome::queued);
  manager.service.advance(seconds(12));
  EXPECT_NE(manager.id("one"), 0u);
  EXPECT_NE(manager.id("two"), 0u);
}

TEST(Service, AManagerThatAnotherFollowsRenewsNothing) {
  const Scratch scratch;
  Manager old(scratch.file());
  old.submit("one", 2);
  const std::vector<std::string> names = {"one"};
  old.service.renew(names, {});
  delete_lock(scratch.file());
  const Manager next(scratch.file());
  EXPECT_THROW(old.service.renew(names, {}), StoreError);
}

TEST(Service, ASwitchIsToldOfItsOwnJobsAlone) {
  const Scratch scratch;
  Manager manager(scratch.file());
  const auto at = [](const std::string& name, const std::string& workers) {
    return request(name, 2) + "  members: " + workers + "\n";
  };
  for (const auto& job : {at("ours", "[{rank: 0, worker: w0}, {rank: 1, worker: w1}]"),
                          at("theirs", "[{rank: 0, worker: w3}, {rank: 1, worker: w4}]")})
    EXPECT_EQ(manager.service.submit(job, "f", {}).outcome, Outcome::queued);
  manager.service.advance({});
  EXPECT_THAT(manager.service.document("A"), HasSubstr("ours"));
  EXPECT_THAT(manager.service.document("A"), testing::Not(HasSubstr("theirs")));
  EXPECT_THAT(manager.service.document("B"), testing::Not(HasSubstr("ours")));
  EXPECT_THAT(manager.service.document("root"), testing::Not(HasSubstr("ours")));
  EXPECT_EQ(told(manager.service, "B").jobs.size(), 1u);
}

// The children of a job at a switch, by port.
std::vector<std::string> ports_of(const config::SwitchConfig& config) {
  std::vector<std::string> ports;
  for (const auto& child : config.jobs.at(0).children) ports.push_back(child.port);
  return ports;
}

TEST(Service, AJobWhoseWorkerLeftTheTopologyRunsOn) {
  const Scratch scratch;
  Inventory inventory = two_level_tree();
  std::uint32_t id = 0;
  std::map<std::string, Amount> needs;
  {
    Manager before(scratch.file(), inventory);
    before.submit("one", 5);
    id = before.id("one");
    needs = before.service.admission().jobs().at("one").needs;
  }
  inventory.workers.pop_back();      // w4 at B.p1
  inventory.workers[0].port = "p3";  // w0 was at A.p0
  Manager after(scratch.file(), inventory);
  const Job& job = after.service.admission().jobs().at("one");
  EXPECT_EQ(job.id, id);
  EXPECT_EQ(job.needs, needs);
  EXPECT_THAT(job.stray, HasSubstr("w0, w4"));
  EXPECT_THAT(ports_of(told(after.service, "A")), testing::ElementsAre("p0", "p1", "p2"));
  EXPECT_THAT(ports_of(told(after.service, "B")), testing::ElementsAre("p0", "p1"));
  EXPECT_THAT(ports_of(told(after.service, "root")), testing::ElementsAre("p0", "p1"));
  after.service.cancel("one", {}, "asked");
  EXPECT_EQ(after.service.admission().amounts().used_at("B"), Amount{});
}

TEST(Service, ATopologyThatChangesIsInTheNextDocuments) {
  const Scratch scratch;
  Inventory inventory = two_level_tree();
  auto manager = std::make_unique<Manager>(scratch.file(), inventory);
  manager->submit("one", 3);
  const std::uint32_t id = manager->id("one");
  const auto before = manager->service.version();
  inventory.workers[0].port = "p3";
  inventory.workers.push_back({"w5", "B", "p2", std::nullopt});
  Service::Setup setup = setup_of(inventory);
  setup.tenants = {{.name = "a"}, {.name = "b"}};
  manager->service.set_setup(std::move(setup), {});
  EXPECT_GT(manager->service.version(), before);
  EXPECT_EQ(manager->id("one"), id);
  EXPECT_THAT(manager->service.admission().jobs().at("one").stray, HasSubstr("w0"));
  EXPECT_TRUE(manager->service.admission().tenants().knows("b"));
  manager->submit("six", 6);
  EXPECT_NE(manager->id("six"), 0u);
  EXPECT_THAT(ports_of(told(manager->service, "B")), testing::ElementsAre("p0", "p1", "p2"));
  manager.reset();
  const Manager after(scratch.file(), inventory);
  EXPECT_NE(after.id("six"), 0u);
}

TEST(Service, ATopologyThatTheStoreDoesNotTakeChangesNothing) {
  const Scratch scratch;
  Inventory inventory = two_level_tree();
  Manager manager(scratch.file(), inventory);
  manager.submit("one", 5);
  delete_lock(scratch.file());
  const SqliteStore next(scratch.file());  // a later term: this manager writes no more
  const auto before = manager.service.version();
  inventory.workers.pop_back();
  EXPECT_THROW(manager.service.set_setup(setup_of(inventory), {}), StoreError);
  EXPECT_EQ(manager.service.version(), before);
  EXPECT_EQ(manager.service.admission().topology().workers.size(), 5u);
  EXPECT_EQ(manager.service.admission().jobs().at("one").stray, "");
}

TEST(Service, AJobWhoseSwitchLeftTheTopologyKeepsItsId) {
  const Scratch scratch;
  Inventory inventory = two_level_tree();
  std::uint32_t id = 0;
  {
    Manager before(scratch.file(), inventory);
    before.submit("one", 5);
    id = before.id("one");
  }
  inventory.switches.pop_back();
  inventory.links.pop_back();
  inventory.workers.resize(3);
  Manager after(scratch.file(), inventory);
  const Job& job = after.service.admission().jobs().at("one");
  EXPECT_EQ(job.id, id);
  EXPECT_NE(job.stray, "");
  EXPECT_FALSE(job.described);
  EXPECT_TRUE(told(after.service, "A").jobs.empty());
  after.submit("two", 2);
  EXPECT_NE(after.id("two"), 0u);
}

TEST(Service, ADamagedEntryIsNamed) {
  const Scratch scratch;
  {
    SqliteStore store(scratch.file());
    Writer writer(store, {""});
    writer.commit(std::vector<Write>{{"jobs/x", "{\"sequence\": 1}", 0}});
  }
  try {
    const Manager manager(scratch.file());
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("store entry jobs/x"));
  }
}

}  // namespace
}  // namespace tributary::manager
