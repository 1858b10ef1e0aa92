// Manifests are a subset of Kubernetes', read strictly (C2).
#include "manager/pods/manifest.h"

#include <gmock/gmock.h>

#include "config/text/error.h"
#include "manager/pods/job_desk.h"
#include "tests/manager/pods/pod_text.h"

namespace tributary::manager {
namespace {

using testing::HasSubstr;

std::string errors_of(const std::string& text) {
  try {
    static_cast<void>(parse_manifest(text, "pod.yaml"));
  } catch (const config::ConfigErrors& errors) {
    return errors.what();
  }
  return "none";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(Manifest, C2_APodHasItsFields) {
  const Manifest manifest = parse_manifest(kPodText, "pod.yaml");
  ASSERT_EQ(manifest.pods.size(), 1u);
  const Pod& pod = manifest.pods[0];
  EXPECT_EQ(pod.metadata.name, "train-0");
  EXPECT_EQ(pod.metadata.labels.at("app"), "train");
  EXPECT_EQ(pod.spec.restart_policy, RestartPolicy::on_failure);
  EXPECT_EQ(pod.spec.group, "train");
  EXPECT_EQ(pod.spec.tolerations[0].match, Toleration::Match::exists);
  EXPECT_EQ(pod.spec.containers[0].command[2], "echo \"a\"\nsleep 5");
  EXPECT_EQ(pod.spec.containers[0].resources.limits.at("example.com/npu"), "2");
}

TEST(Manifest, WhatIsWrittenReadsBackAsTheSame) {
  const std::string text = dump(parse_manifest(kPodText, "pod.yaml").pods[0]);
  EXPECT_EQ(dump(parse_manifest(text, "again").pods[0]), text);
  EXPECT_THAT(text, HasSubstr("example.com/npu"));
  const std::string group = dump(parse_manifest(kGroupText, "pod.yaml").groups[0]);
  EXPECT_EQ(dump(parse_manifest(group, "again").groups[0]), group);
}

TEST(Manifest, C2_AGroupMayAskForAJob) {
  const Manifest manifest = parse_manifest(job_group("train", 4), "m");
  const JobRequest request = job_request_of(manifest.groups[0]);
  EXPECT_EQ(request.job.config.name, "train");
  EXPECT_EQ(request.job.config.workers, 4u);
  const std::string group = dump(manifest.groups[0]);
  EXPECT_EQ(dump(parse_manifest(group, "again").groups[0]), group);
  EXPECT_FALSE(has_job(parse_manifest(kGroupText, "m").groups[0]));
}

TEST(Manifest, TheMistakesOfAJobRequestAreNamed) {
  const std::string at = "metadata.annotations.tributary/job-request: ";
  const std::string good = job_group("train", 4);
  EXPECT_THAT(errors_of(replaced(good, "minCount: 4", "minCount: 3")),
              HasSubstr(at + "has job.workers 4; allowed: minCount, 3"));
  EXPECT_THAT(errors_of(job_group("train", 1, ", members: [{rank: 0, worker: w0}]")),
              HasSubstr(at + "has job.members"));
  EXPECT_THAT(errors_of(replaced(good, "tenant: a\n", "tenant: a\n      lease: 30s\n")),
              HasSubstr(at + "has a lease"));
  EXPECT_THAT(errors_of(job_group("train", 4, ", windw: 4")),
              HasSubstr(at + "line 2: job.windw: unknown key"));
  EXPECT_THAT(errors_of(replaced(good, "tributary/job-request", "tributary/job")),
              HasSubstr("metadata.annotations.tributary/job: is unknown; allowed: "
                        "tributary/job-request"));
  EXPECT_THAT(errors_of(cpu_pod("a", "", "cpu: 1, tributary/port: 1")),
              HasSubstr("is what pods of a group with tributary/job-request get"));
}

TEST(Manifest, SeveralObjectsComeAsDocumentsOrAsAList) {
  const Manifest documents =
      parse_manifest("---\n" + kGroupText + "---\n" + kPodText + "---\n", "m");
  ASSERT_EQ(documents.groups.size(), 1u);
  EXPECT_EQ(documents.groups[0].min_count, 4u);
  EXPECT_EQ(documents.groups[0].together, Together::host);
  EXPECT_EQ(documents.pods.size(), 1u);
  const Manifest list = parse_manifest(
      "{apiVersion: v1, kind: List, items: [" + cpu_pod("a") + "," + cpu_pod("b") + "]}", "m");
  EXPECT_EQ(list.pods.size(), 2u);
}

TEST(Manifest, JsonIsRead) {
  EXPECT_EQ(parse_manifest(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "c", "image": "rootfs:b",
                             "resources": {"limits": {"cpu": "1"}}}]}})",
                           "m")
                .pods.size(),
            1u);
}

TEST(Manifest, AnUnknownFieldIsNamedWithItsPathAndLine) {
  EXPECT_THAT(errors_of(replaced(kPodText, "      command:", "      comand:")),
              HasSubstr("pod.yaml:14:7: spec.containers[0].comand: unknown key; did you mean "
                        "'command'?"));
  EXPECT_THAT(
      errors_of("---\n" + kGroupText + "---\n" + replaced(kPodText, "  restartP", "  rstartP")),
      HasSubstr("pod.yaml:14:3: document[1].spec.rstartPolicy: unknown key"));
  EXPECT_THAT(errors_of(cpu_pod("a", "volumes: [{name: v, hostPath: {path: /}}], ")),
              HasSubstr("spec.volumes: unknown key"));
}

TEST(Manifest, RightsOfTheHostAreRefused) {
  for (const char* field : {"hostNetwork", "hostPID", "hostIPC"})
    EXPECT_THAT(errors_of(cpu_pod("a", std::string(field) + ": true, ")),
                HasSubstr(std::string("spec.") + field + ": is refused"));
  EXPECT_THAT(errors_of(replaced(kPodText, "      command:",
                                 "      securityContext: {privileged: true}\n      command:")),
              HasSubstr("spec.containers[0].securityContext.privileged: is refused"));
  EXPECT_EQ(errors_of(cpu_pod("a", "hostNetwork: false, ")), "none");
}

TEST(Manifest, RootsLeadNowhereButIntoTheirFolder) {
  for (const char* name : {"../etc", "", ".", "/", "a/b", ".."})
    EXPECT_THAT(
        errors_of(replaced(kPodText, "rootfs:busybox", std::string("\"rootfs:") + name + "\"")),
        HasSubstr("spec.containers[0].image: "));
}

TEST(Manifest, WrongValuesAreNamedWithWhatIsAllowed) {
  EXPECT_THAT(errors_of("kind: Service\n"), HasSubstr("allowed: Pod, PodGroup, List"));
  EXPECT_THAT(errors_of(replaced(kPodText, "apiVersion: v1", "apiVersion: v2")),
              HasSubstr("apiVersion: 'v2' is not served; allowed: v1"));
  EXPECT_THAT(errors_of(replaced(kPodText, "name: train-0", "name: Train_0")),
              HasSubstr("metadata.name: 'Train_0' is not a name"));
  EXPECT_THAT(errors_of(cpu_pod("a", "terminationGracePeriodSeconds: 11, ")),
              HasSubstr("spec.terminationGracePeriodSeconds: '11' is out of range"));
  EXPECT_THAT(errors_of(replaced(kPodText, "500m", "lots")),
              HasSubstr("spec.containers[0].resources.limits.cpu: 'lots' is not a number of CPUs"));
  EXPECT_THAT(errors_of("---\n" + cpu_pod("a") + "---\n" + cpu_pod("a")),
              HasSubstr("names a second pod a"));
  EXPECT_THAT(errors_of("a: &x 1\n"), HasSubstr("pod.yaml"));
  EXPECT_THAT(errors_of(""), HasSubstr("kind"));
}

}  // namespace
}  // namespace tributary::manager
