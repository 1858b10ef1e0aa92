// Kubernetes' interface over pods, and the words and codes of its errors (C2).
#include "manager/kubernetes/api.h"

#include <gmock/gmock.h>

#include <sstream>

#include "manager/kubernetes/objects.h"
#include "manager/store/sqlite_store.h"
#include "tests/manager/pods/nodes.h"
#include "tests/manager/pods/pod_text.h"
#include "tests/manager/store/scratch.h"

namespace tributary::manager::kubernetes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kGroups = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups";
const std::string kTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

class KubernetesApi : public testing::Test {
 protected:
  KubernetesApi()
      : store_(scratch_.file()),
        pods_(store_, {}, [] { return Distances{}; }, {}),
        api_(
            pods_, store_.term(), [] { return Instant{}; }, 0ms),
        session_(pods_.attend("x")) {
    report(PodPhase::running);
  }

  Answer ask(const Request& request) { return std::get<Answer>(api_.ask(request)); }
  Json get(const std::string& path, const std::string& accept = "") {
    const Answer answer = ask({.method = "GET", .path = path, .accept = accept});
    EXPECT_EQ(answer.status, 200u) << answer.body;
    return Json::parse(answer.body);
  }
  Json create(const std::string& manifest, const std::string& path = kPods) {
    const Answer answer = ask({.method = "POST", .path = path, .body = manifest});
    EXPECT_EQ(answer.status, 201u) << answer.body;
    return Json::parse(answer.body);
  }
  Answer remove(const std::string& name, const std::string& body = "") {
    return ask({.method = "DELETE", .path = kPods + "/" + name, .body = body});
  }
  // "404 NotFound: there is no ...".
  std::string error_of(const Request& request) {
    const Answer answer = ask(request);
    const Json status = Json::parse(answer.body, nullptr, false);
    if (!status.is_object() || status.value("kind", "") != "Status") return "none";
    EXPECT_EQ(status["code"], answer.status);
    return std::to_string(answer.status) + " " + status["reason"].get<std::string>() + ": " +
           status["message"].get<std::string>();
  }
  std::unique_ptr<Watch> watch(std::map<std::string, std::string> query,
                               const std::string& accept = "") {
    query["watch"] = "true";
    return std::get<std::unique_ptr<Watch>>(
        api_.ask({.method = "GET", .path = kPods, .query = std::move(query), .accept = accept}));
  }
  // Types and names of the events that are due.
  static std::vector<std::string> told(Watch& watch) {
    std::vector<std::string> found;
    std::istringstream lines(watch.next(0ms).value_or("{\"type\": \"over\"}"));
    for (std::string line; std::getline(lines, line);) {
      const Json event = Json::parse(line);
      const Json::json_pointer name("/object/metadata/name");
      found.push_back(event["type"].get<std::string>() +
                      (event.contains(name) ? " " + event[name].get<std::string>() : ""));
    }
    return found;
  }
  void report(PodPhase phase) {
    NodeReport report{.figures = node("x", {npu("n0")}), .instances = {}};
    pods_.look([&](const PodCluster::View& view) {
      const auto work = view.book.work("x");
      report.applied = work.revision;
      for (const PodRecord* record : work.pods)
        report.instances[record->instance()] = {phase, {{"main", "running", 0, 2, ""}}, ""};
    });
    pods_.report("x", session_, std::move(report), {});
  }

  Scratch scratch_;
  SqliteStore store_;
  PodCluster pods_;
  Api api_;
  std::uint64_t session_;
};

TEST_F(KubernetesApi, C2_APodIsCreatedShownAndDeleted) {
  const Json made = create(cpu_pod("a", "", "example.com/npu: 1"));
  EXPECT_EQ(made["kind"], "Pod");
  EXPECT_THAT(made["metadata"]["creationTimestamp"].get<std::string>(), HasSubstr("Z"));
  report(PodPhase::running);
  const Json shown = get(kPods + "/a");
  EXPECT_EQ(shown["spec"]["nodeName"], "x");
  EXPECT_EQ(shown["status"]["phase"], "Running");
  EXPECT_EQ(shown["status"]["conditions"][0]["type"], "PodScheduled");
  EXPECT_EQ(shown["status"]["conditions"][1]["status"], "True");
  EXPECT_EQ(shown["status"]["containerStatuses"][0]["restartCount"], 2);
  EXPECT_EQ(shown["metadata"]["annotations"][kDevicesAnnotation], "n0");
  EXPECT_EQ(shown["metadata"]["uid"], made["metadata"]["uid"]);
  EXPECT_EQ(remove("a").status, 200u);
  EXPECT_TRUE(get(kPods + "/a")["metadata"].contains("deletionGracePeriodSeconds"));
  report(PodPhase::running);
  EXPECT_THAT(error_of({.method = "GET", .path = kPods + "/a"}),
              HasSubstr("404 NotFound: there is no Pod a"));
  EXPECT_NE(create(cpu_pod("a"))["metadata"]["uid"], made["metadata"]["uid"]);
}

TEST_F(KubernetesApi, C2_ATableHasWhatPeopleAskFor) {
  create(cpu_pod("a", "", "example.com/npu: 1"));
  report(PodPhase::running);
  const Json table = get("/api/v1/pods", kTable);
  ASSERT_EQ(table["kind"], "Table");
  std::vector<std::string> names;
  for (const Json& column : table["columnDefinitions"]) names.push_back(column["name"]);
  EXPECT_THAT(
      names, ElementsAre("Name", "Ready", "Status", "Restarts", "Age", "Node", "Devices", "Group"));
  const Json& cells = table["rows"][0]["cells"];
  EXPECT_EQ(cells[0], "a");
  EXPECT_EQ(cells[1], "1/1");
  EXPECT_EQ(cells[2], "Running");
  EXPECT_EQ(cells[3], 2);
  EXPECT_EQ(cells[5], "x");
  EXPECT_EQ(cells[6], "n0");
  EXPECT_EQ(table["rows"][0]["object"]["metadata"]["name"], "a");
  const Json nodes = get("/api/v1/nodes", kTable)["rows"];
  EXPECT_EQ(nodes[0]["cells"][1], "Ready");
  EXPECT_EQ(nodes[0]["cells"][4], "example.com/npu=1");
  EXPECT_EQ(get("/api/v1/namespaces", kTable)["rows"][0]["cells"][0], "default");
}

TEST_F(KubernetesApi, C2_EventsTellWhatWasDecided) {
  create(cpu_pod("a", "", "example.com/npu: 3"));
  const std::string uid = get(kPods + "/a")["metadata"]["uid"];
  const Answer answer = ask({.method = "GET",
                             .path = "/api/v1/events",
                             .query = {{"fieldSelector", "involvedObject.uid=" + uid}}});
  const Json items = Json::parse(answer.body)["items"];
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[1]["type"], "Warning");
  EXPECT_EQ(items[1]["reason"], "unschedulable");
  EXPECT_THAT(items[1]["message"].get<std::string>(), HasSubstr("example.com/npu"));
}

TEST_F(KubernetesApi, C2_GroupsAreObjectsOfTheirOwn) {
  EXPECT_EQ(create(kGroupText, kGroups)["spec"]["schedulingPolicy"]["gang"]["minCount"], 4);
  EXPECT_EQ(get(kGroups)["items"].size(), 1u);
  EXPECT_EQ(get(kGroups, kTable)["rows"][0]["cells"][1], 4);
  const Answer gone = ask({.method = "DELETE", .path = kGroups + "/train"});
  EXPECT_EQ(Json::parse(gone.body)["status"], "Success");
  EXPECT_EQ(get(kGroups)["items"].size(), 0u);
}

TEST_F(KubernetesApi, C2_AWatchTellsChangesFromAVersionOn) {
  create(cpu_pod("a"));
  const std::string version = get(kPods)["metadata"]["resourceVersion"];
  const auto later = watch({{"resourceVersion", version}});
  const auto all = watch({});
  const auto other = watch({{"fieldSelector", "metadata.name=other"}});
  const auto running = watch({{"fieldSelector", "status.phase=Running"}});
  EXPECT_THAT(told(*later), ElementsAre());
  EXPECT_THAT(told(*all), ElementsAre("ADDED a"));
  report(PodPhase::running);
  EXPECT_THAT(told(*later), ElementsAre("MODIFIED a"));
  EXPECT_THAT(told(*running), ElementsAre("ADDED a"));
  report(PodPhase::succeeded);
  EXPECT_THAT(told(*running), ElementsAre("DELETED a"));
  remove("a");
  report(PodPhase::succeeded);
  EXPECT_EQ(told(*later).back(), "DELETED a");
  EXPECT_THAT(told(*other), ElementsAre());
}

TEST_F(KubernetesApi, C2_AWatchEndsWithItsTimeAndWithTheManager) {
  EXPECT_THAT(told(*watch({{"timeoutSeconds", "0"}})), ElementsAre("over"));
  EXPECT_THAT(told(*watch({{"resourceVersion", "1"}})), ElementsAre("ERROR"));
  const auto open = watch({});
  pods_.stop();
  EXPECT_EQ(open->next(10s), std::nullopt);
  EXPECT_THAT(
      error_of(
          {.method = "GET", .path = kPods, .query = {{"watch", "1"}, {"resourceVersion", "x"}}}),
      HasSubstr("400 BadRequest: resourceVersion=x is no number"));
}

TEST_F(KubernetesApi, C2_MistakesAreNamed) {
  create(cpu_pod("a"));
  const auto post = [&](const std::string& body, const std::string& path = kPods) {
    return error_of({.method = "POST", .path = path, .body = body});
  };
  EXPECT_THAT(post(cpu_pod("a")), HasSubstr("409 AlreadyExists: pod a is already there"));
  EXPECT_THAT(post(cpu_pod("b", "colour: red, ")), HasSubstr("400 BadRequest: manifest:1:"));
  EXPECT_THAT(post(cpu_pod("b", "colour: red, ")), HasSubstr("spec.colour: unknown key"));
  EXPECT_THAT(post(kGroupText), HasSubstr("400 BadRequest: the body is something else; allowed "
                                          "here: one Pod"));
  EXPECT_THAT(post(cpu_pod("b"), "/api/v1/namespaces/other/pods"),
              HasSubstr("404 NotFound: there is no namespace 'other'; allowed: default"));
  EXPECT_THAT(error_of({.method = "PATCH", .path = kPods + "/a"}),
              HasSubstr("405 MethodNotAllowed"));
  EXPECT_THAT(error_of({.method = "DELETE", .path = kPods}), HasSubstr("allowed: GET, POST"));
  EXPECT_THAT(error_of({.method = "POST", .path = "/api/v1/nodes"}), HasSubstr("allowed: GET"));
  EXPECT_THAT(error_of({.method = "GET", .path = "/apis/apps/v1"}),
              HasSubstr("404 NotFound: nothing is served at /apis/apps/v1"));
  EXPECT_THAT(
      error_of(
          {.method = "POST", .path = kPods, .query = {{"dryRun", "Some"}}, .body = cpu_pod("b")}),
      HasSubstr("dryRun=Some is not understood; allowed: All"));
  EXPECT_THAT(error_of({.method = "GET", .path = kPods + "/a/log", .query = {{"follow", "true"}}}),
              HasSubstr("400 BadRequest: follow is not served"));
  EXPECT_THAT(
      error_of({.method = "GET", .path = kPods + "/a/log", .query = {{"container", "nope"}}}),
      HasSubstr("has no container nope; allowed: main"));
}

TEST_F(KubernetesApi, ADryRunChangesNothing) {
  const Answer made =
      ask({.method = "POST", .path = kPods, .query = {{"dryRun", "All"}}, .body = cpu_pod("a")});
  EXPECT_EQ(made.status, 201u);
  EXPECT_EQ(get(kPods)["items"].size(), 0u);
  create(cpu_pod("a"));
  EXPECT_EQ(ask({.method = "DELETE", .path = kPods + "/a", .query = {{"dryRun", "All"}}}).status,
            200u);
  EXPECT_EQ(get(kPods)["items"].size(), 1u);
}

TEST_F(KubernetesApi, AnObjectOfAnotherUidIsNotDeleted) {
  create(cpu_pod("a"));
  EXPECT_EQ(remove("a", R"({"preconditions": {"uid": "other"}})").status, 409u);
  EXPECT_EQ(remove("a", "no json").status, 400u);
  const std::string uid = get(kPods + "/a")["metadata"]["uid"];
  EXPECT_EQ(remove("a", R"({"preconditions": {"uid": ")" + uid + "\"}}").status, 200u);
}

TEST_F(KubernetesApi, C2_ClientsFindWhatIsServed) {
  EXPECT_EQ(get("/api")["versions"], Json({"v1"}));
  EXPECT_EQ(get("/apis")["groups"][0]["preferredVersion"]["groupVersion"], kGroupVersion);
  for (const char* path : {"/api/v1", "/apis/scheduling.k8s.io/v1alpha2"}) {
    const Json served = get(path);
    for (const Json& resource : served["resources"]) {
      if (resource["name"] == "pods/log") continue;
      const std::string list = std::string(path) + "/" + resource["name"].get<std::string>();
      EXPECT_EQ(ask({.method = "GET", .path = list}).status, 200u) << list;
    }
  }
  const Json specifications = get("/openapi/v3");
  for (const auto& [version, place] : specifications["paths"].items())
    EXPECT_EQ(get(place["serverRelativeURL"])["openapi"], "3.0.0") << version;
  EXPECT_EQ(ask({.method = "GET", .path = "/readyz"}).body, "ok");
}

}  // namespace
}  // namespace tributary::manager::kubernetes
