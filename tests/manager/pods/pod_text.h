// Manifests of tests.
#pragma once

#include <string>

#include "manager/pods/manifest.h"

namespace tributary::manager {

inline const std::string kPodText =
    "apiVersion: v1\n"
    "kind: Pod\n"
    "metadata:\n"
    "  name: train-0\n"
    "  labels: {app: train}\n"
    "  annotations: {tributary/device-memory: 8Gi, tributary/load-below: \"0.5\"}\n"
    "spec:\n"
    "  restartPolicy: OnFailure\n"
    "  schedulingGroup: {podGroupName: train}\n"
    "  tolerations: [{key: npu, operator: Exists}]\n"
    "  containers:\n"
    "    - name: main\n"
    "      image: rootfs:busybox\n"
    "      command: [sh, -c, \"echo \\\"a\\\"\\nsleep 5\"]\n"
    "      env: [{name: A, value: \"1\"}]\n"
    "      resources: {limits: {cpu: 500m, memory: 64Mi, example.com/npu: \"2\"}}\n";

inline const std::string kGroupText =
    "apiVersion: scheduling.k8s.io/v1alpha2\n"
    "kind: PodGroup\n"
    "metadata: {name: train}\n"
    "spec: {schedulingPolicy: {gang: {minCount: 4}}, "
    "schedulingConstraints: {topologyKey: kubernetes.io/hostname}}\n";

// A group of `count` pods with a job of as many ranks.
inline std::string job_group(const std::string& name, int count, const std::string& more = "") {
  return "apiVersion: scheduling.k8s.io/v1alpha2\n"
         "kind: PodGroup\n"
         "metadata:\n"
         "  name: " +
         name +
         "\n"
         "  annotations:\n"
         "    tributary/job-request: |\n"
         "      tenant: a\n"
         "      job: {name: " +
         name + ", workers: " + std::to_string(count) + more +
         "}\n"
         "spec: {schedulingPolicy: {gang: {minCount: " +
         std::to_string(count) + "}}}\n";
}

// `spec`: further keys of the spec, each with ", " behind it.
inline std::string cpu_pod(const std::string& name, const std::string& spec = "",
                           const std::string& limits = "cpu: 100m") {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {" + spec +
         "containers: [{name: main, image: 'rootfs:busybox', resources: {limits: {" + limits +
         "}}}]}}\n";
}

}  // namespace tributary::manager
