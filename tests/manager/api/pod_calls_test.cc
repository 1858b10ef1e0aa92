// Pods over the manager's interface: replies, and the code and words of each error (C2).
#include "manager/api/pod_calls.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "manager/api/client.h"
#include "manager/api/pod_messages.h"
#include "manager/api/server.h"
#include "manager/store/sqlite_store.h"
#include "tests/manager/pods/nodes.h"
#include "tests/manager/pods/pod_text.h"
#include "tests/manager/store/scratch.h"
#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kGroup =
    "apiVersion: scheduling.k8s.io/v1alpha2\n"
    "kind: PodGroup\n"
    "metadata: {name: train}\n"
    "spec: {schedulingPolicy: {gang: {minCount: 1}}}\n";

struct Bed {
  Bed()
      : store(scratch.file()),
        cluster(store, {{{.name = "a"}}, {}, assemble(two_level_tree())}, {}),
        pods(store, {}, [] { return Distances{}; }, {}),
        server(cluster, pods, {scratch.file() + ".sock", "", {}}, [] { return Instant{}; }),
        client({"unix:" + scratch.file() + ".sock", "", "", ""}),
        session(pods.attend("x")) {}

  json call(const std::string& method, const json& request) {
    return json::parse(client.call(method, request.dump()));
  }
  std::string error_of(const std::string& method, const json& request) {
    try {
      static_cast<void>(client.call(method, request.dump()));
    } catch (const ManagerError& error) {
      return error.code() + ": " + error.what();
    }
    return "none";
  }
  json create(const std::string& text) {
    return call("Pods.Create", {{"manifest", text}, {"file_name", "pod.yaml"}});
  }
  void report(PodPhase phase) {
    NodeReport report{.figures = node("x", {npu("n0", 0.5)}), .instances = {}};
    pods.look([&](const PodCluster::View& view) {
      const auto work = view.book.work("x");
      report.applied = work.revision;
      for (const PodRecord* record : work.pods)
        report.instances[record->instance()] = {phase, {{"main", "running", 0, 2, ""}}, ""};
    });
    pods.report("x", session, std::move(report), {});
  }

  Scratch scratch;
  SqliteStore store;
  Cluster cluster;
  PodCluster pods;
  Server server;
  Client client;
  std::uint64_t session;
};

TEST(PodCallsTimed, C2_APodComesAndGoes) {
  Bed bed;
  bed.report(PodPhase::running);
  EXPECT_EQ(bed.create(cpu_pod("a", "", "example.com/npu: 1"))["created"], json({"pod/a"}));
  EXPECT_EQ(bed.call("Pods.Nodes", json::object())["nodes"][0]["devices"][0]["pod"], "a");
  bed.report(PodPhase::running);
  const json started = bed.call("Pods.Wait", {{"name", "a"}})["pod"];
  EXPECT_EQ(started["phase"], "Running");
  EXPECT_EQ(started["devices"], json({"n0"}));
  EXPECT_EQ(started["containers"][0]["restarts"], 2);
  const json shown = bed.call("Pods.Show", {{"name", "a"}});
  EXPECT_THAT(shown["manifest"].get<std::string>(), HasSubstr("rootfs:busybox"));
  std::vector<std::string> kinds;
  for (const json& event : shown["events"]) kinds.push_back(event["kind"]);
  EXPECT_THAT(kinds, testing::ElementsAre("created", "scheduled", "Running"));
  EXPECT_EQ(bed.call("Pods.Delete", {{"name", "a"}})["gone"], false);
  bed.report(PodPhase::running);
  EXPECT_TRUE(bed.call("Pods.Wait", {{"name", "a"}, {"gone", true}})["pod"].is_null());
  EXPECT_EQ(bed.call("Pods.List", json::object())["pods"].size(), 0u);
}

TEST(PodCallsTimed, ErrorsHaveCodesAndWords) {
  Bed bed;
  bed.create(cpu_pod("a"));
  const auto create = [&](const std::string& text) {
    return bed.error_of("Pods.Create", {{"manifest", text}, {"file_name", "pod.yaml"}});
  };
  EXPECT_EQ(create(cpu_pod("a")), "ALREADY_EXISTS: pod a is already there");
  EXPECT_THAT(create(cpu_pod("b", "volumes: [], ")), HasSubstr("INVALID_ARGUMENT: pod.yaml:1:"));
  EXPECT_THAT(
      create(cpu_pod("b", "schedulingGroup: {podGroupName: g}, ")),
      HasSubstr("FAILED_PRECONDITION: pod b: spec.schedulingGroup.podGroupName: there is no"));
  EXPECT_EQ(bed.error_of("Pods.Show", {{"name", "b"}}), "NOT_FOUND: there is no pod b");
  EXPECT_EQ(bed.error_of("Pods.Wait", {{"name", "b"}}), "NOT_FOUND: there is no pod b");
  EXPECT_EQ(bed.error_of("Pods.Delete", {{"name", "b"}}), "NOT_FOUND: there is no pod b");
  EXPECT_EQ(bed.error_of("Pods.Delete", {{"name", "g"}, {"group", true}}),
            "NOT_FOUND: there is no podgroup g");
}

TEST(PodCallsTimed, C2_LogsComeFromTheAgentOfTheNode) {
  Bed bed;
  bed.create(cpu_pod("a"));
  EXPECT_THAT(bed.error_of("Pods.Logs", {{"name", "a"}}),
              HasSubstr("FAILED_PRECONDITION: pod a has no place: "));
  bed.report(PodPhase::running);
  bed.pods.advance(Instant{} + Duration::seconds(2));
  EXPECT_EQ(bed.error_of("Pods.Logs", {{"name", "b"}}), "NOT_FOUND: there is no pod b");
  EXPECT_EQ(bed.error_of("Pods.Logs", {{"name", "a"}, {"container", "c"}}),
            "NOT_FOUND: pod a has no container c; allowed: main");
  const auto answered = [&bed](const LogAnswer& answer, std::uint32_t lines) {
    // The agent: it is woken by the question.
    std::thread agent([&bed, answer, lines] {
      std::uint64_t seen = 0;
      std::vector<LogQuestion> questions;
      while ((questions = bed.pods.logs().take("x")).empty())
        bed.pods.wait_change(seen, std::chrono::seconds(1));
      EXPECT_EQ(questions[0].container, "main");
      EXPECT_EQ(questions[0].lines, lines);
      bed.pods.logs().answer("x", questions[0].id, answer);
    });
    const std::string error = bed.error_of("Pods.Logs", {{"name", "a"}, {"lines", lines}});
    agent.join();
    return error;
  };
  EXPECT_EQ(answered({"a line\n", ""}, 5), "none");
  EXPECT_EQ(answered({"", "podman does not answer"}, 1000),
            "FAILED_PRECONDITION: podman does not answer");
}

TEST(PodCallsTimed, C2_TheListHasGroupsWithTheirLoad) {
  Bed bed;
  bed.report(PodPhase::running);
  bed.create("---\n" + std::string(kGroup) + "---\n" +
             cpu_pod("a", "schedulingGroup: {podGroupName: train}, ", "example.com/npu: 1"));
  bed.report(PodPhase::running);
  const json groups = bed.call("Pods.List", json::object())["groups"];
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0]["name"], "train");
  EXPECT_EQ(groups[0]["running"], 1);
  EXPECT_EQ(groups[0]["devices"], 1);
  EXPECT_EQ(groups[0]["load"], 0.5);
  EXPECT_FALSE(groups[0].contains("cpu")) << "no agent has said";
}

TEST(PodCallsTimed, LongTextsOfAgentsAreCutBetweenCharacters) {
  Bed bed;
  bed.report(PodPhase::running);
  bed.create(cpu_pod("a"));
  std::string text(1, 'x');
  while (text.size() < 2000) text += "\xC3\xA9";
  v1::NodeReport report;
  fill(node("x", {npu("n0")}), *report.mutable_node());
  bed.pods.look([&](const PodCluster::View& view) {
    v1::InstanceInfo& instance = *report.add_instances();
    instance.set_instance(view.book.pods().at("a").instance());
    instance.set_message(text);
  });
  bed.pods.report("x", bed.session, node_report_of(report), {});
  EXPECT_EQ(bed.call("Pods.List", json::object())["pods"][0]["message"], text.substr(0, 1023));
}

TEST(PodCallsTimed, AnUnplacedPodSaysWhy) {
  Bed bed;
  bed.create(cpu_pod("a", "", "example.com/npu: 2"));
  const json pod = bed.call("Pods.List", json::object())["pods"][0];
  EXPECT_EQ(pod["reason"], "Unschedulable");
  bed.report(PodPhase::running);
  bed.pods.advance(Instant{} + Duration::seconds(2));
  EXPECT_EQ(bed.call("Pods.List", json::object())["pods"][0]["message"],
            "0/1 nodes are available: 1 without enough example.com/npu");
}

}  // namespace
}  // namespace tributary::manager
