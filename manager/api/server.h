// The manager's gRPC server: the services of manager.proto over a Cluster, and those of pods.proto
// over a PodCluster.
//
// Two ways in: a unix socket, whose file permissions say who may (identity.h), and TCP with TLS in
// which both sides show certificates of one authority. Each stream takes a thread; further ones
// than kMostStreams are refused.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/time.h"
#include "manager/api/listen.h"
#include "manager/service/cluster.h"
#include "manager/service/pod_cluster.h"

namespace tributary::manager {

class Server {
 public:
  static constexpr int kMostStreams = 2048;

  // Serves until it is destroyed, when calls under way are cancelled and `cluster` and `pods` are
  // stopped.
  // Throws std::runtime_error when it cannot listen or read the files.
  Server(Cluster& cluster, PodCluster& pods, const ListenOptions& options,
         std::function<Instant()> now);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] int port() const;  // of `address`; 0: none

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace tributary::manager
