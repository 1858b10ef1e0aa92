// The services of pods.proto over a PodCluster.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "manager/api/calls.h"
#include "manager/service/pod_cluster.h"

namespace tributary::manager {

class PodServices {
 public:
  PodServices(Shared& shared, PodCluster& pods);
  ~PodServices();
  PodServices(const PodServices&) = delete;
  PodServices& operator=(const PodServices&) = delete;

  void register_at(grpc::ServerBuilder& builder);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace tributary::manager
