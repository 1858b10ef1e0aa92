// T9: who may notify workers of a host's results, in every kind of file.
#include "config/check/check_notify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load/load.h"
#include "config/server/server_config.h"
#include "config/topology/topology.h"
#include "tests/config/sample.h"

namespace tributary::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string switch_file(const std::string& job, const std::string& host = ", port: w0") {
  return "switch: {address: 10.77.0.254, completion: {hosts: [{name: ps, address: 10.77.0.9" +
         host +
         "}]}}\n"
         "ports:\n"
         "  - {name: w0, devargs: net_null0}\n"
         "jobs:\n"
         "  - {id: 1, workers: 4, " +
         job + "}\n";
}
std::string server_file(const std::string& job) {
  return "server: {address: 10.77.0.9}\n"
         "jobs:\n"
         "  - {id: 1, workers: 4, root: 10.77.0.254, " +
         job + "}\n";
}
std::vector<std::string> server_errors(const std::string& job) {
  return errors_of(server_file(job), parse_server_config, "s.yaml");
}

TEST(CheckNotify, T9_IsTheRootUnlessAskedFor) {
  EXPECT_EQ(parse_switch_config(switch_file("completion_hosts: [ps]"), "f.yaml").jobs[0].notify,
            wire::Notify::root);
  const SwitchConfig config =
      parse_switch_config(switch_file("completion_hosts: [ps, root], notify: direct"), "f.yaml");
  EXPECT_EQ(config.jobs[0].notify, wire::Notify::direct);
  EXPECT_EQ(parse_switch_config(dump(config), "dump").jobs[0], config.jobs[0]);
  EXPECT_EQ(parse_server_config(server_file("notify: direct"), "s.yaml").jobs[0].job.notify,
            wire::Notify::direct);
}

TEST(CheckNotify, T9_IsRefusedWhereNobodyCanDoIt) {
  const std::string at = ": jobs[0].notify: ";
  EXPECT_THAT(errors_of(switch_file("notify: direct")),
              ElementsAre(AllOf(HasSubstr("f.yaml:5:"),
                                HasSubstr(at + "only the root finishes chunks of this job"))));
  EXPECT_THAT(errors_of(switch_file("completion_hosts: [root], notify: direct")),
              ElementsAre(HasSubstr(at + "only the root")));
  EXPECT_THAT(errors_of(switch_file("completion_hosts: [ps], notify: switch")),
              ElementsAre(HasSubstr(at + "a server or worker has no children of its own")));
  EXPECT_THAT(errors_of(switch_file("completion_hosts: [ps], notify: direct, integrity: crc32c")),
              ElementsAre(HasSubstr(at + "packets of a host have a UDP checksum")));
  EXPECT_THAT(errors_of(switch_file("completion_hosts: [ps], notify: both")),
              ElementsAre(HasSubstr("allowed: root, switch, direct")));
  EXPECT_THAT(server_errors("notify: switch"),
              ElementsAre(AllOf(HasSubstr("s.yaml:3:"), HasSubstr(at))));
  EXPECT_THAT(server_errors("notify: direct, integrity: crc32c"),
              ElementsAre(HasSubstr("allowed: integrity: udp-checksum")));
}

// Rule 18: what a host says to workers is believed behind one port.
TEST(CheckNotify, T9_AHostThatNotifiesHasAKnownWay) {
  const std::string direct = "completion_hosts: [ps, root], notify: direct";
  EXPECT_THAT(errors_of(switch_file(direct, "")),
              ElementsAre(AllOf(HasSubstr("switch.completion.hosts[0].port: is missing"),
                                HasSubstr("job 1 are notified by 'ps' itself"),
                                HasSubstr("a route to its router, or notify: root"))));
  EXPECT_THAT(errors_of(switch_file("completion_hosts: [ps, root]", "")), ElementsAre());
  const std::string by_router = "}]}, routes: [{to: 10.77.0.9/32, via: 10.77.0.3, port: w0}]}\n";
  const std::string file = switch_file(direct, "");
  EXPECT_THAT(
      errors_of(file.substr(0, file.find("}]}}")) + by_router + file.substr(file.find("ports:"))),
      ElementsAre());
}

}  // namespace
}  // namespace tributary::config
