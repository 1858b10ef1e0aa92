// Completion engines inside a worker's process (T10): what `tributary-psd --node WORKER` beside the
// worker would be, with the life of the worker's communicator.
//
// A thread of its own drives them, on a UDP socket of their own: a rank that computes, or waits,
// answers as a host all the same. Models are parameter servers' affair.
#pragma once

#include <cstdint>
#include <thread>

#include "worker/api/host_loop.h"

namespace tributary::worker {

class CompletionHost {
 public:
  // From here on it says to the roots that it lives. Throws std::invalid_argument for a job with a
  // model, std::system_error when the address cannot be bound.
  CompletionHost(const config::ServerConfig& config, std::uint64_t nonce);
  // Tells every root to look for another host.
  ~CompletionHost();
  CompletionHost(const CompletionHost&) = delete;
  CompletionHost& operator=(const CompletionHost&) = delete;

  // In a forked child there is no thread, and the socket is the parent's. Not destroyed afterwards.
  void abandon();

 private:
  HostLoop loop_;
  std::thread thread_;
};

}  // namespace tributary::worker
