// Server and client over a unix socket: replies, and the code and words of each error.
#include "manager/api/server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/sync_stream.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "manager/api/client.h"
#include "manager/store/sqlite_store.h"
#include "tests/manager/store/scratch.h"
#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Bed {
  Bed()
      : store(scratch.file()),
        cluster(store, {{{.name = "a"}, {.name = "b"}}, {}, assemble(two_level_tree())}, {}),
        pods(store, {}, [] { return Distances{}; }, {}),
        server(cluster, pods, {socket(), "", {}}, [] { return Instant{}; }),
        client({"unix:" + socket(), "", "", ""}) {}

  [[nodiscard]] std::string socket() const { return scratch.file() + ".sock"; }
  json call(const std::string& method, const json& request) {
    return json::parse(client.call(method, request.dump()));
  }
  json submit(const std::string& name, int workers) {
    const std::string text =
        "tenant: a\njob: {name: " + name + ", workers: " + std::to_string(workers) + "}\n";
    return call("Jobs.Submit", {{"request", text}, {"file_name", "job.yaml"}});
  }
  // "CODE: words"
  std::string error_of(const std::string& method, const json& request) {
    try {
      static_cast<void>(client.call(method, request.dump()));
    } catch (const ManagerError& error) {
      return error.code() + ": " + error.what();
    }
    return "none";
  }

  Scratch scratch;
  SqliteStore store;
  Cluster cluster;
  PodCluster pods;
  Server server;
  Client client;
};

TEST(ServerTimed, T20_JobsComeAndGo) {
  Bed bed;
  const json job = bed.submit("one", 5);
  EXPECT_EQ(job["state"], "STARTING");
  EXPECT_EQ(job["waits_for"], "A, B, root");
  EXPECT_EQ(job["members"].size(), 5u);
  EXPECT_EQ(job["members"][0]["address"], "udp://10.0.0.11");
  EXPECT_EQ(bed.call("Jobs.List", json::object())["jobs"].size(), 1u);
  EXPECT_EQ(bed.call("Jobs.List", {{"tenant", "b"}})["jobs"].size(), 0u);
  EXPECT_EQ(bed.call("Jobs.Show", {{"name", "one"}})["id"], job["id"]);
  const json gone = bed.call("Jobs.Cancel", {{"name", "one"}, {"reason", "done"}});
  EXPECT_EQ(gone["kind"], "cancelled");
  EXPECT_EQ(bed.call("Jobs.List", json::object())["jobs"].size(), 0u);
  const json events = bed.call("Cluster.Events", json::object())["events"];
  EXPECT_EQ(events.back()["reason"], "asked by the manager's machine: done");
}

TEST(ServerTimed, ErrorsHaveCodesAndWords) {
  Bed bed;
  bed.submit("one", 2);
  const auto submit = [&](const std::string& text) {
    return bed.error_of("Jobs.Submit", {{"request", text}, {"file_name", "job.yaml"}});
  };
  EXPECT_THAT(submit("tenant: a\njob: {name: one, workers: 2}\n"),
              HasSubstr("ALREADY_EXISTS: job one is already"));
  EXPECT_THAT(submit("tenant: nobody\njob: {name: two, workers: 2}\n"),
              HasSubstr("FAILED_PRECONDITION: there is no tenant nobody; allowed: a, b"));
  EXPECT_THAT(submit("tenant: a\njob: {name: two, workrs: 2}\n"),
              HasSubstr("INVALID_ARGUMENT: job.yaml:2:"));
  EXPECT_THAT(submit("tenant: a\njob: {name: two, workers: 9}\n"),
              HasSubstr("FAILED_PRECONDITION: "));
  EXPECT_THAT(bed.error_of("Jobs.Show", {{"name", "two"}}),
              HasSubstr("NOT_FOUND: there is no job two"));
  EXPECT_THAT(bed.error_of("Jobs.Cancel", {{"name", "two"}}), HasSubstr("NOT_FOUND"));
  EXPECT_THAT(bed.error_of("Cluster.Drain", {{"name", "C"}}), HasSubstr("FAILED_PRECONDITION"));
}

TEST(ServerTimed, AMoveThatCannotBeIsRefusedByName) {
  Bed bed;
  EXPECT_THAT(bed.error_of("Cluster.Move", {{"name", "C"}, {"uplink", "up"}}),
              HasSubstr("FAILED_PRECONDITION: there is no switch C; allowed: root, A, B"));
  EXPECT_THAT(bed.error_of("Cluster.Move", {{"name", "A"}, {"uplink", "p0"}}),
              HasSubstr("FAILED_PRECONDITION: 'p0' is no way up of A; allowed: up"));
  const json there = bed.call("Cluster.Move", {{"name", "A"}, {"uplink", "up"}});
  EXPECT_EQ(there["to"], "up");
  EXPECT_EQ(there["waits_for"], "");
}

TEST(ServerTimed, AWatchEndsWithItsJob) {
  Bed bed;
  bed.submit("one", 2);
  int replies = 0;
  try {
    bed.client.watch(
        "one",
        [&](const std::string&) {
          if (replies++ == 0) bed.call("Jobs.Cancel", {{"name", "one"}});
          return true;
        },
        Duration::seconds(60));
    ADD_FAILURE() << "ended well";
  } catch (const ManagerError& error) {
    EXPECT_EQ(error.code(), "NOT_FOUND");
  }
  EXPECT_EQ(replies, 1);
}

TEST(ServerTimed, TheTopologyIsATree) {
  Bed bed;
  bed.call("Cluster.Drain", {{"name", "w4"}});
  const json all = bed.call("Cluster.Topology", json::object());
  ASSERT_EQ(all["switches"].size(), 3u);
  EXPECT_EQ(all["switches"][0]["name"], "root");
  EXPECT_EQ(all["switches"][0]["ports"][0]["to"], "A");
  EXPECT_EQ(all["switches"][1]["connected"], false);
  ASSERT_EQ(all["workers"].size(), 5u);
  EXPECT_EQ(all["workers"][4]["drained"], true);
}

TEST(ServerTimed, T13_StragglersAreNamedTheLatestFirst) {
  Bed bed;
  const json job = bed.submit("one", 5);
  SwitchRegistration leaf;
  leaf.name = "A";
  leaf.address = "10.0.0.11";
  leaf.ports = {"p0", "p1", "p2", "p3", "spare", "up"};
  leaf.slots = 4096;
  leaf.bytes = 64u << 20;
  const auto session = bed.cluster.attend(leaf, {});
  SwitchReport report;
  report.lateness.emplace();
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    report.lateness->push_back(
        {.job = job["id"], .ranks = {rank}, .ops = 8, .mean_ms = 5.0 * rank});
  report.lateness->at(2).first = 0;
  report.lateness->at(2).last = 6;
  ASSERT_TRUE(bed.cluster.report("A", session, report, {}));
  report.lateness.reset();  // as before
  ASSERT_TRUE(bed.cluster.report("A", session, report, {}));
  const auto ranks = [&](const json& request) {
    std::vector<int> found;
    const json reply = bed.call("Cluster.Stragglers", request);
    for (const json& one : reply["stragglers"]) found.push_back(one["rank"]);
    return found;
  };
  EXPECT_EQ(ranks(json::object()), (std::vector<int>{2, 1, 0}));
  const json all = bed.call("Cluster.Stragglers", json::object())["stragglers"];
  EXPECT_EQ(all[0]["last"], 6u);
  EXPECT_EQ(all[0]["first"], 0u);
  EXPECT_FALSE(all[1].contains("last"));  // not known
  EXPECT_EQ(ranks({{"most", 1}}), (std::vector<int>{2}));
  EXPECT_EQ(ranks({{"above_ms", 4}}), (std::vector<int>{2, 1}));
  EXPECT_EQ(ranks({{"job", "two"}}), (std::vector<int>{}));
}

// Asks as grpcurl and others do that have no manager.proto.
TEST(ServerTimed, ReflectionNamesTheServices) {
  const Bed bed;
  const auto channel =
      grpc::CreateChannel("unix:" + bed.socket(), grpc::InsecureChannelCredentials());
  const grpc::internal::RpcMethod method(
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
      grpc::internal::RpcMethod::BIDI_STREAMING);
  using Factory = grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>;
  grpc::ClientContext context;
  const std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream(
      Factory::Create(channel.get(), method, &context));
  const grpc::Slice list_services(std::string("\x3a\x01*"));  // field 7 of the request: "*"
  ASSERT_TRUE(stream->Write(grpc::ByteBuffer(&list_services, 1)));
  stream->WritesDone();
  grpc::ByteBuffer reply;
  ASSERT_TRUE(stream->Read(&reply)) << stream->Finish().error_message();
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(reply.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  for (const char* service : {"Jobs", "Cluster", "Agents", "Pods"})
    EXPECT_THAT(text, HasSubstr(std::string("tributary.manager.v1.") + service));
}

TEST(ServerTimed, AStoreOfAnotherManagerIsUnavailable) {
  Bed bed;
  delete_lock(bed.scratch.file());
  const SqliteStore next(bed.scratch.file());
  EXPECT_THAT(
      bed.error_of("Jobs.Submit", {{"request", "tenant: a\njob: {name: one, workers: 2}\n"}}),
      HasSubstr("UNAVAILABLE"));
}

TEST(ServerTimed, TheSocketIsForItsOwnerAndGroup) {
  const Bed bed;
  struct stat status {};
  ASSERT_EQ(::stat(bed.socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0660u);
}

TEST(ClientTimed, TargetsThatMakeNoSense) {
  EXPECT_THROW(Client({"nowhere", "", "", ""}), std::invalid_argument);
  EXPECT_THROW(Client({"127.0.0.1:1", "", "", ""}), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::manager
