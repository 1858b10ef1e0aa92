// The footprint that is shown, that the loader refuses by and that the engine asserts, beside what
// an engine takes from the heap: never more, and hardly less.
#include <gmock/gmock.h>

#include <functional>

#include "config/plan/aggregation_memory.h"
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using Change = std::function<void(config::SwitchConfig&)>;

config::SwitchConfig with(const Change& change) {
  config::SwitchConfig c = test_switch({test_job()});
  c.slots = 1u << 16;
  c.ports.push_back({"a-port-with-a-long-name", "net_null9", 1500});
  change(c);
  return c;
}
Change of_job(const std::function<void(config::JobConfig&)>& change) {
  return [change](config::SwitchConfig& c) { change(c.jobs[0]); };
}

config::Bracket rank(std::uint32_t r) {
  return {{}, r};
}

// Jobs of all kinds; ids go on.
void add_jobs(config::SwitchConfig& c, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    config::JobConfig job = test_job(2 + i % 5, 4u << i % 3);
    job.id = 100 + i;
    job.chunk_bytes = 64 << i % 4;
    job.shards = static_cast<std::uint8_t>(1 + i % 3);
    if (i % 4 == 1) job.slots = config::SlotMode::dynamic;
    if (i % 4 == 2) job.order = wire::Order::reproducible;
    c.jobs.push_back(job);
  }
}

void make_leaf(config::JobConfig& job) {
  job.children = {{false, 0, 0, "p0", {0}}, {true, 9, 0x0A4D0009, "a-port-with-a-long-name", {2}}};
  job.parent = config::ParentConfig{"a-root-with-a-long-name", 240, 0x0A4D00FE, {2, 9}, "p3", 1, 2};
}

// What a name is of: a configuration.
struct Row {
  const char* name;
  Change change;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"one small job", [](auto&) {}},
      {"no job", [](auto& c) { c.jobs.clear(); }},
      {"many jobs", [](auto& c) { add_jobs(c, 300); }},
      {"many shards", of_job([](auto& job) { job.shards = 16; })},
      {"large windows", of_job([](auto& job) { job.window = 4096; })},
      {"large chunks", of_job([](auto& job) { job.chunk_bytes = 8192; })},
      {"many ranks", of_job([](auto& job) { job.workers = 1000; })},
      {"65 ranks", of_job([](auto& job) { job.workers = 65; })},
      {"narrow partial sums", of_job([](auto& job) { job.partials = wire::Partials::narrow; })},
      {"in order", of_job([](auto& job) { job.order = wire::Order::reproducible; })},
      {"collected", of_job([](auto& job) { job.trigger = config::Trigger::collect; })},
      {"inner brackets", of_job([](auto& job) {
         job.workers = 5;
         job.order = wire::Order::reproducible;
         job.bracketing =
             config::Bracket{{{{rank(0), {{rank(1), rank(2)}, 0}, rank(3)}, 0}, rank(4)}, 0};
       })},
      {"degraded results", of_job([](auto& job) {
         job.workers = 100;
         job.stragglers.degraded_after = Duration::ms(500);
       })},
      {"a cache", [](auto& c) { c.cache.megabytes = 4; }},
      {"a cache of several sizes",
       [](auto& c) {
         c.cache.megabytes = 3;
         add_jobs(c, 20);
       }},
      {"dynamic slots", [](auto& c) { c.jobs[0].slots = config::SlotMode::dynamic; }},
      {"a reserve",
       [](auto& c) {
         c.memory.reserve_megabytes = 2;
         add_jobs(c, 3);
       }},
      {"a leaf of a tree", of_job(make_leaf)},
      {"a leaf that holds data", of_job([](auto& job) {
         make_leaf(job);
         job.window = 256;
         job.order = wire::Order::reproducible;
       })},
      {"the root of a tree", of_job([](auto& job) {
         make_leaf(job);
         job.parent.reset();
       })},
      {"names, places and reductions", of_job([](auto& job) {
         job.name = "a name that is longer than what fits a short text";
         job.completion_hosts = {"a-server-with-a-long-name", "root"};
         for (std::uint32_t r = 0; r < 3; ++r) job.members.push_back({r, "p1"});
         job.reductions = {{wire::DType::float32, wire::ReduceOp::sum}};
         job.lcores = {0, 1, 2};
       })},
  };
  return all;
}

// Never more than what was derived, and at most 2 % of its tables less.
void expect_within(std::uint64_t taken, std::uint64_t derived, std::uint64_t tables) {
  EXPECT_LE(taken, derived);
  EXPECT_LE(derived - std::min(taken, derived), tables / 50) << "of " << derived;
}

TEST(EngineFootprint, WhatIsTakenIsWhatWasDerived) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.name);
    const config::SwitchConfig c = with(row.change);
    const config::AggregationMemory derived = config::aggregation_memory(c);
    const std::size_t before = heap_bytes();
    const Engine engine(c, dataplane::kUdpAddresses, {41, 0});
    expect_within(heap_bytes() - before, derived.total(), derived.tables);
    EXPECT_EQ(engine.memory_bytes(), derived.total());
  }
}

// What a running switch says that it has is true after changes, too, and they add up to nothing.
TEST(EngineFootprint, ChangesGiveBackWhatTheyTook) {
  config::SwitchConfig small = with([](auto& c) {
    make_leaf(c.jobs[0]);
    c.memory.reserve_megabytes = 4;
  });
  config::SwitchConfig large = small;
  add_jobs(large, 20);
  for (config::JobConfig& job : large.jobs) job.slots = config::SlotMode::partition;
  Outbox out(Engine::outbox_capacity(large));
  const std::size_t before = heap_bytes();
  Engine engine(small, dataplane::kUdpAddresses, {41, 0});
  std::size_t once = 0;
  for (int turn = 0; turn < 4; ++turn) {
    for (config::SwitchConfig* const next : {&large, &small}) {
      auto change = engine.prepare(*next);
      engine.quiesce(*change, out);
      engine.apply(*change);
      change.reset();
      const std::uint64_t told = engine.memory_bytes();
      expect_within(heap_bytes() - before, told, told - Engine::payload_bytes(small));
    }
    if (turn == 0) once = heap_bytes();
    EXPECT_EQ(heap_bytes(), once) << "turn " << turn;
  }
}

}  // namespace
}  // namespace tributary::aggregator
