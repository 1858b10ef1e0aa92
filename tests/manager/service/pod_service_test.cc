// Pods over a store: what was decided outlives the manager, and a claim is one compare-and-swap
// (C2).
#include "manager/service/pod_service.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "manager/etcd/etcd_store.h"
#include "manager/store/sqlite_store.h"
#include "tests/manager/etcd/fake_etcd.h"
#include "tests/manager/pods/nodes.h"
#include "tests/manager/pods/pod_text.h"
#include "tests/manager/store/scratch.h"

namespace tributary::manager {
namespace {

const auto kSilent = [](const auto&, const auto&, const auto&) {};

std::string npu_pod(const std::string& name) {
  return cpu_pod(name, "", "example.com/npu: 1");
}

struct Bed {
  Bed() : store(scratch.file()) { start(); }
  void start() {
    service.reset();
    service = std::make_unique<PodService>(store, BookLimits{}, kSilent, now);
  }
  void create(const std::string& text) { service->create(parse_manifest(text, "m"), now); }
  void report(PodPhase phase) {
    NodeReport report{.figures = node("x", {npu("n0"), npu("n1")}), .instances = {}};
    const auto work = service->book().work("x");
    report.applied = work.revision;
    for (const PodRecord* record : work.pods)
      report.instances[record->instance()] = {phase, {}, ""};
    service->report("x", std::move(report), now);
  }
  const PodRecord& pod(const std::string& name) { return service->book().pods().at(name); }

  Scratch scratch;
  SqliteStore store;
  Instant now = Instant::from_ns(1);
  std::unique_ptr<PodService> service;
};

TEST(PodServiceTimed, C2_ClaimsAreKeysThatGoWithThePod) {
  Bed bed;
  bed.report(PodPhase::running);
  bed.create("---\n" + npu_pod("a") + "---\n" + npu_pod("b"));
  bed.service->schedule({}, bed.now);
  const auto claims = bed.store.list("claims/");
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0].key, "claims/x/n0");
  EXPECT_EQ(claims[0].value, bed.pod("a").instance());
  bed.report(PodPhase::succeeded);
  EXPECT_TRUE(bed.store.list("claims/").empty());
  for (const char* name : {"a", "b"}) EXPECT_TRUE(bed.service->remove(name, bed.now));
  bed.report(PodPhase::running);
  EXPECT_TRUE(bed.store.list("pods/").empty());
}

TEST(PodServiceTimed, TheNextManagerKnowsAsMuch) {
  Bed bed;
  bed.create(kGroupText);
  bed.report(PodPhase::running);
  bed.create(npu_pod("a"));
  bed.service->schedule({}, bed.now);
  bed.report(PodPhase::running);
  const std::string instance = bed.pod("a").instance();
  bed.start();
  EXPECT_EQ(bed.pod("a").instance(), instance);
  EXPECT_EQ(bed.pod("a").phase, PodPhase::running);
  EXPECT_EQ(bed.pod("a").devices, std::vector<std::string>{"n0"});
  EXPECT_TRUE(bed.service->book().groups().contains("train"));
  bed.report(PodPhase::running);
  bed.create(npu_pod("b"));
  bed.service->schedule({}, bed.now);
  EXPECT_EQ(bed.pod("b").devices, std::vector<std::string>{"n1"});
  EXPECT_NE(bed.pod("b").instance(), instance);
}

TEST(PodServiceTimed, ASequenceNumberIsNeverUsedAgain) {
  Bed bed;
  bed.create(npu_pod("a"));
  const std::string instance = bed.pod("a").instance();
  bed.service->remove("a", bed.now);
  bed.start();
  bed.create(npu_pod("a"));
  EXPECT_NE(bed.pod("a").instance(), instance);
}

TEST(PodServiceTimed, AFencedManagerClaimsNothing) {
  Bed bed;
  bed.report(PodPhase::running);
  bed.create(npu_pod("a"));
  delete_lock(bed.scratch.file());
  SqliteStore other(bed.scratch.file());
  EXPECT_THROW(bed.service->schedule({}, bed.now), StoreError);
  EXPECT_TRUE(other.list("claims/").empty());
  EXPECT_EQ(bed.pod("a").node, "");
}

// With etcd, reading may fail as writing does.
TEST(PodServiceTimed, WhatCouldNeitherBeDecidedNorReadIsStale) {
  FakeEtcd fake;
  EtcdConnection etcd({{fake.endpoint()}, "test/"}, {});
  const auto leadership = try_lead(etcd, {"one", "h:1"}, std::chrono::seconds(30)).won;
  ASSERT_TRUE(leadership);
  EtcdStore store(etcd, *leadership);
  PodService service(store, BookLimits{}, kSilent, {});
  service.report("x", {.figures = node("x", {npu("n0")}), .instances = {}}, {});
  service.create(parse_manifest(npu_pod("a"), "m"), {});
  fake.set(FakeEtcd::Fault::away);
  EXPECT_THROW(service.schedule({}, {}), StoreError);
  EXPECT_TRUE(service.is_stale());
  const std::uint64_t undecided = service.book().work("x").revision;
  fake.set(FakeEtcd::Fault::none);
  service.advance({});
  EXPECT_FALSE(service.is_stale());
  EXPECT_EQ(service.book().pods().at("a").node, "");
  // Other work than that of before never has its number.
  EXPECT_GT(service.book().work("x").revision, undecided);
  service.schedule({}, {});
  EXPECT_EQ(service.book().pods().at("a").node, "x");
  EXPECT_EQ(store.list("claims/").size(), 1u);
}

TEST(PodServiceTimed, HundredPodsAreClaimedOnceEach) {
  Bed bed;
  for (int n = 0; n < 10; ++n) {
    NodeReport report{.figures = node("x" + std::to_string(n), {}), .instances = {}};
    for (int d = 0; d < 10; ++d) report.figures.devices.push_back(npu("n" + std::to_string(d)));
    bed.service->report("x" + std::to_string(n), std::move(report), bed.now);
  }
  std::string text;
  for (int i = 0; i < 100; ++i) text += "---\n" + npu_pod("p" + std::to_string(i));
  bed.create(text);
  bed.service->schedule({}, bed.now);
  EXPECT_EQ(bed.store.list("claims/").size(), 100u);
}

// The bar is 100 ms for each of the last pods; here it is printed, since a shared machine's clock
// proves nothing.
TEST(PodServiceTimed, C2_AThousandPodsSpreadEvenlyOverAHundredNodes) {
  Bed bed;
  constexpr int kNodes = 100;
  for (int n = 0; n < kNodes; ++n) {
    NodeReport report{.figures = node("x" + std::to_string(n), {}), .instances = {}};
    for (int d = 0; d < 16; ++d) report.figures.devices.push_back(npu("n" + std::to_string(d)));
    bed.service->report("x" + std::to_string(n), std::move(report), bed.now);
  }
  double last_ms = 0;
  for (int round = 0; round < 10; ++round) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "---\n" + npu_pod("p" + std::to_string(round * 100 + i));
    bed.create(text);
    const auto began = std::chrono::steady_clock::now();
    bed.service->schedule({}, bed.now);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    last_ms = took.count() / 100;
  }
  std::printf("the last hundred of 1,000 pods: %.2f ms each\n", last_ms);
  EXPECT_EQ(bed.store.list("claims/").size(), 1000u) << "no device twice";
  std::map<std::string, int> pods;
  for (const auto& [name, record] : bed.service->book().pods()) ++pods[record.node];
  ASSERT_EQ(pods.size(), std::size_t{kNodes});
  for (const auto& [name, count] : pods) EXPECT_EQ(count, 10) << name;
}

}  // namespace
}  // namespace tributary::manager
