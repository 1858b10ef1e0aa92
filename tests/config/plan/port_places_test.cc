// Which port of a file is which of those that run, and where the others go.
#include "config/plan/port_places.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "config/plan/lcore_plan.h"

namespace tributary::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SwitchConfig ports(const std::vector<std::string>& names, std::size_t lcores = 0) {
  SwitchConfig config;
  config.lcores.assign(lcores, -1);
  for (const std::string& name : names) config.ports.push_back({name, "dev-" + name});
  return config;
}

SwitchConfig after(const SwitchConfig& running, const SwitchConfig& next) {
  return seated(running, next, seat_ports(running, next));
}

std::vector<std::string> names(const SwitchConfig& config) {
  std::vector<std::string> out;
  for (const PortConfig& port : config.ports) out.push_back(port.name);
  return out;
}

std::vector<std::uint16_t> lcores(const SwitchConfig& config) {
  std::vector<std::uint16_t> out;
  for (const QueuePlace& place : queue_places(config)) out.push_back(place.lcore);
  return out;
}

TEST(PortPlaces, APortKeepsItsPlaceWhereverTheFileHasIt) {
  const auto config = after(ports({"a", "b", "c"}), ports({"c", "x", "a"}));
  EXPECT_THAT(names(config), ElementsAre("a", "", "c", "x"));
  EXPECT_EQ(config.ports[1].queues, 0);
  EXPECT_EQ(queue_count(config), 3u);
  EXPECT_THAT(names(without_vacancies(config)), ElementsAre("a", "c", "x"));
}

// Loops may still hold something that names the place.
TEST(PortPlaces, AVacatedPlaceIsForTheNextReload) {
  const auto once = after(ports({"a", "b"}), ports({"b", "x"}));
  EXPECT_THAT(names(once), ElementsAre("", "b", "x"));
  const Seating seating = seat_ports(once, ports({"x", "y"}));
  EXPECT_THAT(seating.added, ElementsAre(0));
  EXPECT_THAT(seating.removed, ElementsAre(1));
  EXPECT_THAT(seating.place, ElementsAre(2, 0));
  EXPECT_THAT(names(seated(once, ports({"x", "y"}), seating)), ElementsAre("y", "", "x"));
}

TEST(PortPlaces, ADeviceWithAnotherNameIsTheSamePort) {
  auto next = ports({"z", "b"});
  next.ports[0].devargs = "dev-a";
  const Seating seating = seat_ports(ports({"a", "b"}), next);
  EXPECT_THAT(seating.place, ElementsAre(0, 1));
  EXPECT_THAT(seating.renamed, ElementsAre(0));
  EXPECT_THAT(seating.added, IsEmpty());
  EXPECT_THAT(seating.removed, IsEmpty());
  // A name counts for more: `a` has another device, and no port is renamed.
  next.ports.push_back({"a", "dev-c"});
  EXPECT_THAT(seat_ports(ports({"a", "b"}), next).renamed, IsEmpty());
}

TEST(PortPlaces, ThereAreSoManyPlaces) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < kMaxPorts; ++i) all.push_back("p" + std::to_string(i));
  const auto running = ports(all);
  all[3] = "x";
  EXPECT_THROW(seat_ports(running, ports(all)), std::invalid_argument);
  all.erase(all.begin() + 3);
  const auto fewer = after(running, ports(all));
  all.emplace_back("x");
  EXPECT_EQ(after(fewer, ports(all)).ports[3].name, "x");
}

// The file says nothing of lcores: what is there stays, what comes goes where there is least to do.
TEST(PortPlaces, QueuesStayWhereTheyAre) {
  const auto running = ports({"a", "b", "c", "d"}, 2);
  EXPECT_THAT(lcores(running), ElementsAre(0, 1, 0, 1));
  const auto fewer = after(running, ports({"b", "c", "d"}, 2));
  EXPECT_THAT(lcores(fewer), ElementsAre(1, 0, 1));
  auto next = ports({"x", "d", "c", "b"}, 2);
  next.ports[0].queues = 2;
  const auto more = after(fewer, next);
  EXPECT_THAT(names(more), ElementsAre("x", "b", "c", "d"));
  EXPECT_THAT(lcores(more), ElementsAre(0, 1, 1, 0, 1));
  auto tied = next;
  tied.ports[3].lcores = {0};  // b
  EXPECT_THAT(lcores(after(more, tied)), ElementsAre(0, 1, 0, 0, 1));
  EXPECT_THAT(lcores(after(after(more, tied), next)), ElementsAre(0, 1, 0, 0, 1))
      << "b may go to either: to the first";
}

// One that gets another number of queues goes where there is least to do, as one that comes.
TEST(PortPlaces, C1_APortWithMoreQueuesIsBalancedAnew) {
  const auto running = ports({"a", "b", "c"}, 2);
  EXPECT_THAT(lcores(running), ElementsAre(0, 1, 0));
  auto next = ports({"a", "b", "c"}, 2);
  next.ports[0].queues = 3;
  EXPECT_THAT(lcores(after(running, next)), ElementsAre(0, 1, 0, 1, 0));
  next.ports[2].queues = 2;
  EXPECT_THAT(lcores(after(running, next)), ElementsAre(0, 1, 0, 1, 0, 1));
  next.ports[1].queues = 2;
  const auto more = after(running, next);
  EXPECT_THAT(lcores(more), ElementsAre(0, 1, 0, 1, 0, 1, 0));
  EXPECT_THAT(lcores(after(more, ports({"a", "b", "c"}, 2))), ElementsAre(0, 1, 0));
  // While it is closed it has none, and its place is not vacant.
  const auto closed = with_closed(more, {0});
  EXPECT_TRUE(is_closed(closed.ports[0]) && !is_vacant(closed.ports[0]));
  EXPECT_THAT(names(without_vacancies(closed)), ElementsAre("a", "b", "c"));
  EXPECT_THAT(lcores(closed), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(lcores(after(closed, next)), ElementsAre(0, 1, 0, 1, 0, 1, 0));
}

}  // namespace
}  // namespace tributary::config
