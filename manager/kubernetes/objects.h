// Pods, groups, nodes and events as Kubernetes' objects (core/v1, scheduling.k8s.io/v1alpha2).
//
// What has no counterpart there is in annotations: a pod's devices, and each device of a node with
// its figures.
#pragma once

#include <string>

#include "manager/kubernetes/answer.h"
#include "manager/pods/node.h"
#include "manager/pods/pod_record.h"
#include "manager/service/pod_cluster.h"

namespace tributary::manager::kubernetes {

inline constexpr const char* kDevicesAnnotation = "tributary/devices";  // of a pod: "npu0,npu1"
inline constexpr const char* kDevicePrefix = "device.tributary/";       // of a node, one each
inline constexpr const char* kPodGroupLabel = "tributary/pod-group";    // of a pod

Json object_of(const PodRecord& record);
Json object_of(const PodGroup& group);
Json object_of(const Node& node);
// `uid`: of the pod that the event is about; empty: it is of a node, or its pod is gone.
Json object_of(const PodEvent& event, const std::string& uid);
Json object_of_space();

// Constant for a pod, and never another one's.
std::string uid_of(const PodRecord& record);

}  // namespace tributary::manager::kubernetes
