// Reports of agents that mean nothing, or too much, do no harm.
#include "manager/api/messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/utf8.h"
#include "manager/api/pod_messages.h"

namespace tributary::manager {
namespace {

TEST(Messages, LatenessIsANumber) {
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(), -1.0}) {
    v1::Report from;
    v1::Lateness& child = *from.mutable_lateness()->add_children();
    child.set_mean_ms(value);
    child.set_max_ms(value);
    child.set_last_ms(value);
    const SwitchReport report = report_of(from);
    EXPECT_EQ(report.lateness->at(0).mean_ms, 0);
    EXPECT_EQ(report.lateness->at(0).max_ms, 0);
    EXPECT_EQ(report.lateness->at(0).last_ms, 0);
  }
}

TEST(Messages, T11_SeatsAndLoadsAreAsTheAgentSaysThem) {
  v1::Report from;
  EXPECT_FALSE(report_of(from).seats) << "as before";
  EXPECT_FALSE(report_of(from).load);
  from.mutable_hosts();
  EXPECT_TRUE(report_of(from).seats->empty());
  from.set_bytes_per_second(7);
  v1::HostSeat& seat = *from.mutable_hosts()->add_seats();
  seat.set_job(3);
  seat.set_shard(1);
  seat.set_host(std::string(5000, 'A'));
  seat.set_state("serving");
  seat.set_chosen("gone");
  const SwitchReport report = report_of(from);
  EXPECT_EQ(report.load, 7u);
  EXPECT_EQ(report.seats->at(0), (HostSeat{.job = 3,
                                           .shard = 1,
                                           .host = std::string(64, 'A'),
                                           .state = "serving",
                                           .chosen = "gone"}));
}

TEST(Messages, T20_NeighboursAreAsTheAgentSaysThem) {
  v1::Report from;
  EXPECT_FALSE(report_of(from).neighbours) << "as before";
  v1::Neighbour& heard = *from.mutable_neighbours()->add_neighbours();
  heard.set_port("up");
  heard.set_system(std::string(5000, 'r'));
  heard.set_its_port("a");
  EXPECT_EQ(report_of(from).neighbours,
            (std::vector<Neighbour>{{"up", std::string(64, 'r'), "a"}}));
}

// Half a character makes an answer that no client takes, for all that it lists.
TEST(Messages, LongTextsAreCutBetweenCharacters) {
  std::string text;
  while (text.size() < 5000) text += "\u20ac";
  v1::Report from;
  from.set_problem(text);
  from.mutable_lateness()->add_children()->set_excluded(text);
  const SwitchReport report = report_of(from);
  EXPECT_EQ(report.problem, text.substr(0, 1023));
  EXPECT_EQ(report.lateness->at(0).excluded, text.substr(0, 63));
  v1::NodeReport node;
  v1::DeviceInfo& device = *node.mutable_node()->add_devices();
  device.set_name("d");
  device.set_problem(text);
  const NodeReport taken = node_report_of(node);
  EXPECT_EQ(taken.figures.devices.at(0).problem, text.substr(0, 1023));
  EXPECT_TRUE(is_utf8(taken.figures.devices.at(0).problem));
  EXPECT_EQ(bounded("abc", 3), "abc");
  EXPECT_EQ(bounded("abc", 2), "ab");
  EXPECT_EQ(bounded("a\xff\xff", 2), "a\xff");
}

}  // namespace
}  // namespace tributary::manager
