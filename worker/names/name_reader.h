// Reads a value by its name as a host that is no member of the job: one that the job's
// `names.readers` lists. On the caller's thread, over a transport of its own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/time.h"

namespace tributary::worker {

struct NameRead {
  // "udp://SWITCH_IPV4[:PORT]", or a memif address whose id no other process uses.
  std::string address;
  // In full: "/job/JOB/run=RUN/TENSOR/v=VERSION[/seg=SEGMENT][/worker=RANK]".
  std::string name;
  Duration limit = Duration::seconds(10);
};

// Throws std::invalid_argument or std::runtime_error.
std::vector<std::byte> read_by_name(const NameRead& what);

}  // namespace tributary::worker
