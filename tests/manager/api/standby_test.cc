// A manager that does not lead, and a client that knows several managers.
#include "manager/api/standby.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "manager/api/server.h"
#include "manager/api/wait.h"
#include "manager/store/sqlite_store.h"
#include "tests/manager/store/scratch.h"
#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kJob = "tenant: a\njob: {name: one, workers: 5}\n";

struct Bed {
  Bed()
      : store(scratch.file()),
        cluster(store, {{{.name = "a"}}, {}, assemble(two_level_tree())}, {}),
        pods(store, {}, [] { return Distances{}; }, {}) {}

  [[nodiscard]] std::string address(const std::string& name) const {
    return "unix:" + scratch.file() + "." + name;
  }
  [[nodiscard]] ListenOptions at(const std::string& name) const {
    return {scratch.file() + "." + name, "", {}};
  }
  void lead() {
    server = std::make_unique<Server>(cluster, pods, at("leader"), [] { return Instant{}; });
  }

  Scratch scratch;
  SqliteStore store;
  Cluster cluster;
  PodCluster pods;
  std::unique_ptr<Server> server;
};

std::string error_of(Client& client, const std::string& method, const json& request,
                     Duration timeout = Duration::seconds(10)) {
  try {
    static_cast<void>(client.call(method, request.dump(), timeout));
  } catch (const ManagerError& error) {
    return error.code() + ": " + error.what();
  }
  return "none";
}

TEST(Standby, AnswersEveryCallWithWhoLeads) {
  const Bed bed;
  const Standby standby(bed.at("standby"), [] { return std::string("manager two leads, at X"); });
  Client client({bed.address("standby"), "", "", ""});
  for (const char* method : {"Jobs.Submit", "Jobs.List", "Cluster.Topology", "Pods.Nodes"})
    EXPECT_EQ(error_of(client, method, json::object()), "UNAVAILABLE: manager two leads, at X");
}

TEST(Standby, AClientOfSeveralFindsTheOneThatLeads) {
  Bed bed;
  const Standby standby(bed.at("standby"), [] { return std::string("manager two leads, at X"); });
  bed.lead();
  Client client({bed.address("nobody") + "," + bed.address("standby") + "," + bed.address("leader"),
                 "", "", ""});
  EXPECT_EQ(error_of(client, "Jobs.Submit", {{"request", kJob}}), "none");
  // What the leader says is the answer.
  EXPECT_THAT(error_of(client, "Jobs.Submit", {{"request", kJob}}), HasSubstr("ALREADY_EXISTS"));
  std::string state;
  client.watch(
      "one",
      [&](const std::string& job) {
        state = json::parse(job)["state"];
        return false;
      },
      Duration::seconds(10));
  EXPECT_EQ(state, "STARTING");
}

TEST(Standby, AClientOfSeveralSaysWhyNoneLeads) {
  const Bed bed;
  const auto why = [] { return std::string("no manager is known to lead: etcd is away"); };
  const Standby one(bed.at("one"), why);
  const Standby two(bed.at("two"), why);
  Client client({bed.address("one") + "," + bed.address("two"), "", "", ""});
  EXPECT_EQ(error_of(client, "Jobs.List", json::object(), Duration::ms(300)),
            "UNAVAILABLE: no manager is known to lead: etcd is away");
}

TEST(Standby, EachOfSeveralAddressesIsChecked) {
  EXPECT_THROW(Client({"unix:/a,", "", "", ""}), std::invalid_argument);
  EXPECT_THROW(Client({"unix:/a,host", "", "", ""}), std::invalid_argument);
  EXPECT_THROW(Client({"unix:/a,host:1", "", "", ""}), std::invalid_argument);  // without TLS files
}

}  // namespace
}  // namespace tributary::manager
