// The manager's pages for operators: one document, and what it asks for once a second as JSON.
//
//   /         the document (page.h)
//   /nodes    nodes with their devices, and what is in use
//   /groups   PodGroups with what their pods use together
//   /pods     pods with their containers
//   /jobs     jobs with their state and switches
//
// Each JSON page is {"all": how many there are, "rows": the first kMostRows by name}; fields are
// named as in pods.proto and manager.proto, and what is not known is absent. Manifests, requests
// and keys are on no page: the port asks for no certificate.
#pragma once

#include <cstddef>
#include <string>

#include "control/http/http_server.h"
#include "manager/service/cluster.h"
#include "manager/service/pod_cluster.h"

namespace tributary::managerd {

inline constexpr std::size_t kMostRows = 1000;

control::HttpServer::Pages pages(const manager::Cluster& cluster, const manager::PodCluster& pods);

}  // namespace tributary::managerd
