#include "tools/loadgen/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::loadgen {
namespace {

using testing::HasSubstr;

config::SwitchConfig config_of() {
  config::SwitchConfig config;
  config.ipv4 = 0x0A4D00FE;
  config.ports = {{"a", "net_memif0,id=0,socket=/run/m.sock,bsize=9728,role=server", 9000},
                  {"b", "net_vhost3,iface=/run/v.sock", 1500}};
  config::JobConfig first;
  first.id = 1;
  first.workers = 3;
  config::JobConfig second = first;
  second.id = 2;
  second.workers = 2;
  second.members = {{0, "b"}, {1, "a"}};
  config.jobs = {first, second};
  return config;
}

template <typename F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(Plan, TheOtherEndOfAPortFollowsFromItsDevargs) {
  const Plan plan = make_plan(config_of(), {}, {});
  ASSERT_EQ(plan.ports.size(), 2u);
  EXPECT_EQ(plan.ports[0].devargs, "net_memif0,id=0,socket=/run/m.sock,bsize=9728,role=client");
  EXPECT_EQ(plan.ports[1].devargs, "net_virtio_user3,path=/run/v.sock,queue_size=1024");
  EXPECT_EQ(far_end({"c", "net_memif1,id=1", 1500}), "net_memif1,id=1,role=client");
}

// Rings as deep as the port says: a switch sees the same client as one of DPDK's.
TEST(Plan, AMemifsOtherEndNeedsNoDriver) {
  const Plan plan = make_plan(config_of(), {}, {});
  ASSERT_TRUE(plan.ports[0].memif.has_value());
  EXPECT_EQ(plan.ports[0].memif->socket, "/run/m.sock");
  EXPECT_EQ(plan.ports[0].memif->id, 0u);
  EXPECT_EQ(plan.ports[0].memif->frames, 1024u);
  EXPECT_FALSE(plan.ports[1].memif.has_value());
  const auto other = memif_end({"c", "net_memif1,id=3,rsize=8", 1500});
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->socket, "/run/memif.sock");
  EXPECT_EQ(other->id, 3u);
  EXPECT_EQ(other->frames, 256u);
  EXPECT_FALSE(memif_end({"c", "net_memif1,rsize=14", 1500}).has_value()) << "deeper than ours";
  EXPECT_FALSE(memif_end({"c", "net_memif1,secret=x", 1500}).has_value()) << "not known to ours";
  const std::string given = "net_memif0,socket=/run/m.sock,role=client";
  EXPECT_FALSE(make_plan(config_of(), {}, {{"a", given}}).ports[0].memif.has_value());
}

TEST(Plan, OtherPortsAskForTheirOtherEnd) {
  config::SwitchConfig config = config_of();
  config.ports[1].devargs = "net_af_packet0,iface=ve0";
  EXPECT_THAT(refusal([&] { make_plan(config, {}, {}); }), HasSubstr("give it with --port b="));
  const Plan plan = make_plan(config, {}, {{"b", "net_af_packet1,iface=ve1"}});
  EXPECT_EQ(plan.ports[1].devargs, "net_af_packet1,iface=ve1");
  EXPECT_THAT(refusal([&] {
                make_plan(config, {}, {{"b", "x"}, {"z", "y"}});
              }),
              HasSubstr("no port 'z'"));
}

TEST(Plan, RanksTakeThePortsInTurnUnlessTheyAreTied) {
  const Plan plan = make_plan(config_of(), {}, {});
  ASSERT_EQ(plan.workers.size(), 5u);
  const std::vector<std::size_t> ports = {0, 1, 0, 1, 0};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(plan.workers[i].port, ports[i]) << i;
  EXPECT_EQ(plan.workers[3].job, 1u);
  EXPECT_EQ(plan.workers[3].rank, 0u);
  for (std::size_t i = 1; i < 5; ++i)
    EXPECT_NE(plan.workers[i].ipv4, plan.workers[i - 1].ipv4) << i;
}

TEST(Plan, PlaysTheJobsThatAreNamed) {
  const Plan plan = make_plan(config_of(), {2}, {});
  ASSERT_EQ(plan.jobs.size(), 1u);
  EXPECT_EQ(plan.jobs[0].id, 2u);
  EXPECT_EQ(plan.workers.size(), 2u);
  EXPECT_THAT(refusal([] { make_plan(config_of(), {2, 9}, {}); }), HasSubstr("no job 9"));
}

// To the switch's lcores a plane is what a job is, and so it is here: with ops of its own.
TEST(Plan, A2_EachPlaneOfAJobIsPlayed) {
  config::SwitchConfig config = config_of();
  config.lcores = {-1, -1};
  config.jobs[1].planes = 2;
  config.jobs[1].name = "big";
  const Plan plan = make_plan(config, {2}, {});
  ASSERT_EQ(plan.jobs.size(), 2u);
  EXPECT_EQ(plan.workers.size(), 4u);
  for (std::uint8_t plane = 0; plane < 2; ++plane) {
    EXPECT_EQ(plan.jobs[plane].id, 2u);
    EXPECT_EQ(plan.jobs[plane].plane, plane);
    EXPECT_EQ(plan.jobs[plane].name, "big:" + std::to_string(plane));
  }
}

TEST(Plan, RefusesAnAddressOfItsOwn) {
  config::SwitchConfig config = config_of();
  config.ipv4 = 0x0A500001;
  EXPECT_THAT(refusal([&] { make_plan(config, {}, {}); }), HasSubstr("10.80.0.0/14"));
}

// Their results come from an address that is not the switch's.
TEST(Plan, RefusesJobsWhoseHostsNotifyWorkersThemselves) {
  config::SwitchConfig config = config_of();
  config.jobs[1].notify = wire::Notify::direct;
  EXPECT_THAT(refusal([&] { make_plan(config, {}, {}); }), HasSubstr("job 2"));
  EXPECT_EQ(make_plan(config, {1}, {}).jobs.size(), 1u);
}

TEST(Plan, AJobHasItsOwnRateOrItsPartOfTheRateOfAll) {
  config::SwitchConfig config = config_of();
  EXPECT_EQ(rate_of(make_plan(config, {}, {}), 0, 1000, {}), 500);
  EXPECT_EQ(rate_of(make_plan(config, {}, {}), 1, 0, {}), 0) << "as many as possible";
  config.jobs[1].planes = 2;
  const Plan plan = make_plan(config, {}, {});
  EXPECT_EQ(rate_of(plan, 0, 900, {{2, 80}}), 300);
  EXPECT_EQ(rate_of(plan, 1, 900, {{2, 80}}), 40) << "of one of two planes";
  EXPECT_EQ(rate_of(plan, 2, 900, {{2, 0}}), 0) << "of this one as many as possible";
  EXPECT_THAT(refusal([&] { rate_of(plan, 0, 0, {{3, 80}}); }), HasSubstr("job 3"));
}

TEST(Plan, PortsAreFoundByTheirNamesOrAllOfThem) {
  const Plan plan = make_plan(config_of(), {}, {});
  EXPECT_THAT(places_of(plan, {}), testing::ElementsAre(0, 1));
  EXPECT_THAT(places_of(plan, {"b", "b"}), testing::ElementsAre(1));
  EXPECT_THAT(refusal([&] { places_of(plan, {"c"}); }), HasSubstr("no port 'c'"));
}

}  // namespace
}  // namespace tributary::loadgen
