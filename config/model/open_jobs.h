// Jobs that no file names: a switch learns them from task information that ranks send (A4). The
// bounds of these jobs, and the switches above and below with which they may be summed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/net/frame.h"
#include "core/time.h"
#include "core/wire/open_job.h"

namespace tributary::config {

// Numbers of jobs from one to another; 0 to 0: none.
struct JobIds {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  [[nodiscard]] bool any() const { return last != 0; }
  [[nodiscard]] bool has(std::uint32_t id) const { return any() && first <= id && id <= last; }
  bool operator==(const JobIds&) const = default;
};

// Another switch of a topology, which opens jobs, too.
struct OpenNeighbour {
  std::string name;
  std::uint32_t id = 0;
  std::uint32_t ipv4 = 0;
  wire::MacAddress mac{};  // of the one above; zero: it is behind a router
  std::string port;        // own port that leads to it

  bool operator==(const OpenNeighbour&) const = default;
};

struct OpenJobsConfig {
  JobIds ids = {};            // none: the switch opens no jobs
  std::uint32_t jobs = 16;    // at once
  std::uint32_t slots = 512;  // of each shard, of all of them together
  std::uint32_t megabytes = 16;
  Duration lease = Duration::seconds(60);  // silence of all members that ends a job

  // Not in files: a topology says so.
  std::optional<OpenNeighbour> parent = std::nullopt;
  std::vector<OpenNeighbour> children = {};

  [[nodiscard]] bool enabled() const { return ids.any(); }
};

}  // namespace tributary::config
