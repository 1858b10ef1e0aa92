// Which paths of Kubernetes' interface mean what (C2).
#include "manager/kubernetes/request.h"

#include <gtest/gtest.h>

namespace tributary::manager::kubernetes {
namespace {

std::string told(const std::string& path) {
  const auto target = target_of(path);
  if (!target) return "none";
  return std::string(plural_of(target->resource)) + "|" + target->space + "|" + target->name + "|" +
         target->part;
}

TEST(KubernetesRequest, C2_APathNamesAKindASpaceAndAnObject) {
  EXPECT_EQ(told("/api/v1/pods"), "pods|||");
  EXPECT_EQ(told("/api/v1/namespaces/default/pods"), "pods|default||");
  EXPECT_EQ(told("/api/v1/namespaces/default/pods/a"), "pods|default|a|");
  EXPECT_EQ(told("/api/v1/namespaces/default/pods/a/log"), "pods|default|a|log");
  EXPECT_EQ(told("/api/v1/nodes/n0"), "nodes||n0|");
  EXPECT_EQ(told("/api/v1/namespaces"), "namespaces|||");
  EXPECT_EQ(told("/api/v1/namespaces/default"), "namespaces||default|");
  EXPECT_EQ(told("/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups/g"),
            "podgroups|default|g|");
}

TEST(KubernetesRequest, OtherPathsMeanNothing) {
  for (const char* path :
       {"", "api/v1/pods", "/api/v1", "/api/v2/pods", "/api/v1/podgroups", "/api/v1/pods/a",
        "/api/v1/namespaces/default/nodes", "/api/v1/namespaces/default/pods/a/exec",
        "/api/v1/namespaces/default/pods/a/log/b", "/api/v1/namespaces/default/pods/",
        "/apis/scheduling.k8s.io/v1alpha2/pods", "/apis/apps/v1/deployments", "//api/v1/pods"})
    EXPECT_EQ(told(path), "none") << path;
}

TEST(KubernetesRequest, ATableIsAskedForByTheAcceptHeader) {
  Request request{.method = "GET", .path = "/api/v1/pods"};
  EXPECT_FALSE(request.wants_table());
  request.accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
  EXPECT_TRUE(request.wants_table());
  request.query["watch"] = "true";
  EXPECT_TRUE(request.asks("watch"));
  EXPECT_FALSE(request.asks("follow"));
}

}  // namespace
}  // namespace tributary::manager::kubernetes
