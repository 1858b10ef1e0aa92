// The command line of tributary-loadgen, checked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "core/wire/types.h"
#include "tools/loadgen/player.h"

namespace tributary::loadgen {

struct Options {
  std::string config_path;
  std::vector<std::uint32_t> jobs;          // ids; none: all
  std::map<std::string, std::string> ends;  // devargs by the name of the switch's port
  std::uint64_t rate = 0;  // contributions a second, of all; 0: as many as possible
  std::map<std::uint32_t, std::uint64_t> job_rates;  // of these jobs, by id, whatever `rate` says
  std::uint64_t ops = 0;                             // of each job; 0: no limit
  Duration duration;                                 // 0: no limit
  Duration warm_up;  // of that, the beginning, in which nothing is measured
  wire::DType dtype = wire::DType::float32;
  std::uint32_t op_chunks = 16;
  std::uint32_t loss_group = 0;
  Duration join_timeout = Duration::seconds(30);
  Duration op_timeout = Duration::seconds(30);
  Faults faults;
  std::map<std::uint32_t, Duration> late;  // by rank
  std::uint64_t l2_rate = 0;               // frames a second
  std::vector<std::string> l2_ports;       // names; none: all
  std::uint32_t l2_stations = 1024;
  std::uint32_t l2_bytes = 256;
  std::uint64_t seed = 1;
  std::string json;  // file, "-": standard output; empty: a table there
  bool quiet = false;
  bool busy = false;
  bool hugepages = false;
  std::string dpdk_log_level = "error";
};

// "max", or a whole number from 1 with k or M behind it or not; nullopt otherwise. max: 0.
std::optional<std::uint64_t> parse_rate(const std::string& text);
// "3:250k": job 3 has that rate, whatever others have.
std::optional<std::pair<std::uint32_t, std::uint64_t>> parse_job_rate(const std::string& text);
// "3:20ms": rank 3 issues its ops 20 ms after the others.
std::optional<std::pair<std::uint32_t, Duration>> parse_late(const std::string& text);

// Fills `options`. A value: exit with that status now (help was shown, or the error was printed).
std::optional<int> parse_options(int argc, const char* const* argv, Options& options);

}  // namespace tributary::loadgen
