// Completion engines inside a worker's process (T10): the same as `tributary-psd --node WORKER`
// beside the worker, but with the lifetime of the worker's communicator.
//
// They have a thread and a UDP socket of their own: a rank that computes or waits still answers as
// a host. Only parameter servers hold models.
#pragma once

#include <cstdint>
#include <thread>

#include "worker/host/host_loop.h"

namespace tributary::worker {

class CompletionHost {
 public:
  // From here on it sends heartbeats to the roots. Throws std::invalid_argument for a job with a
  // model, std::system_error when the address cannot be bound.
  CompletionHost(const config::ServerConfig& config, std::uint64_t nonce);
  // Tells every root to find another host.
  ~CompletionHost();
  CompletionHost(const CompletionHost&) = delete;
  CompletionHost& operator=(const CompletionHost&) = delete;

  // In a forked child the thread is missing, and the socket is the parent's. Don't destroy it then.
  void abandon();

 private:
  HostLoop loop_;
  std::thread thread_;
};

}  // namespace tributary::worker
