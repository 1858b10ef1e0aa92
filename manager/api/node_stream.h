// One node agent's stream: its reports are read on the caller's thread and acknowledged there; new
// work is written by another thread, the newest alone.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "manager/api/calls.h"
#include "manager/api/pods.grpc.pb.h"
#include "manager/service/pod_cluster.h"

namespace tributary::manager {

class NodeStream {
 public:
  using Stream = grpc::ServerReaderWriter<v1::NodeWork, v1::NodeReport>;

  NodeStream(Shared& shared, PodCluster& pods, grpc::ServerContext& context, Stream& stream)
      : shared_(shared), pods_(pods), context_(context), stream_(stream) {}

  // Until the agent is gone, another one speaks for the node, or the manager stops. Throws
  // CallError for agents that are not let in.
  void run(const Identity& caller);

 private:
  void enter(const v1::NodeReport& first, const Identity& caller);
  // False: the session is over.
  bool take(const v1::NodeReport& report);
  void write_work();
  void write_until_over();
  bool write(std::uint64_t acknowledged);

  Shared& shared_;
  PodCluster& pods_;
  grpc::ServerContext& context_;
  Stream& stream_;
  std::mutex writing_;
  std::uint64_t sent_ = 0;  // revision; guarded by writing_
  std::string node_;
  std::string leaf_;           // by the topology
  std::vector<Device> ports_;  // that its containers lease, by the topology
  std::uint64_t session_ = 0;
};

}  // namespace tributary::manager
