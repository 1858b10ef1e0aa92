// A task's data in the switches' caches, by name (worker/python/tributary/_task/cache.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "worker/api/communicator.h"
#include "worker/task/manifest.h"
#include "worker/task/sink.h"

namespace tributary::task {

// A task as its pieces' names have it: the number of the sum job, identity, manifest.
struct CachedTask {
  std::uint32_t job = 0;
  std::string identity;
  const Manifest& manifest;
};

// Neither throws CommunicatorError: what the switches do not have, workers give each other.
//
// Puts all pieces; stops at the first refusal, and returns its text, "" if there was none.
std::string put_pieces(Communicator& comm, const CachedTask& task, std::span<const std::byte> data);
// Asks for the pieces that the sink lacks, in order, until one does not come.
void get_pieces(Communicator& comm, const CachedTask& task, Sink& sink);

}  // namespace tributary::task
