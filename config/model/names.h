// Named data (C4): the memory that a switch has for it, and who may read a job's.
#pragma once

#include <cstdint>
#include <vector>

#include "config/model/acl.h"
#include "core/time.h"

namespace tributary::config {

struct NamesConfig {
  std::uint32_t megabytes = 0;  // of the cache, over all loops; 0: no named data
  std::uint32_t segment_bytes =
      2048;                       // the largest that the cache holds; it takes as much for each
  std::uint32_t entries = 16384;  // names that were put and have not expired, for each loop
  std::uint32_t pending = 1024;   // names that wait for an answer, for each loop
  Duration ttl = Duration::seconds(3600);

  [[nodiscard]] bool enabled() const { return megabytes != 0; }
};

struct JobNames {
  bool enabled = false;
  std::vector<IpPrefix> readers;  // hosts that may get, beside the members

  bool operator==(const JobNames&) const = default;
};

}  // namespace tributary::config
