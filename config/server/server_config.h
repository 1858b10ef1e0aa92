// The configuration of a parameter server (`tributary-psd`): typed, checked, immutable after load.
//
// A job's keys are those of the switch's file that matter to completion hosts; both are compared
// when the root hands a job over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/model/optimizer_config.h"
#include "config/model/switch_config.h"
#include "config/text/error.h"
#include "config/text/field.h"

namespace tributary::config {

struct ServedJobConfig {
  JobConfig job;
  std::uint32_t root_ipv4 = 0;
  std::uint16_t root_udp_port = kDefaultUdpBasePort;
  OptimizerConfig optimizer;  // of kind none: the job has no model
};

// A DPDK port of the server's own, instead of the kernel's UDP.
struct ServerPortConfig {
  std::string devargs;  // empty: it has none
  std::uint32_t mtu = 1500;
  bool hugepages = false;
  Duration idle_sleep_max = Duration::us(200);
  FragmentsConfig fragments;
};

struct ServerConfig {
  std::string name = "ps";
  std::uint32_t ipv4 = 0;
  std::uint16_t udp_port = kDefaultUdpBasePort;
  std::uint32_t megabytes = 256;
  Duration heartbeat = Duration::ms(100);
  ServerPortConfig dpdk;
  std::vector<ServedJobConfig> jobs;
  std::string metrics_listen;
  std::string control_socket;
};

// Both throw ConfigErrors. `file_name` is the name of the text in error messages.
ServerConfig load_server_config(const std::string& path);
ServerConfig parse_server_config(std::string_view text, const std::string& file_name);
// Canonical YAML; parses back to the same.
std::string dump(const ServerConfig& config);

// A job's share of `megabytes`: between the least that it needs and the most with which nothing is
// ever refused (config/plan/memory_plan.h); models get their memory first.
std::uint64_t server_share(const ServerConfig& config, const JobConfig& job);

// Keys of the file, and those below `server`: a topology has the latter for each of its servers.
const Fields<ServerConfig>& server_schema();
const Fields<ServerConfig>& server_node_schema();
// Every key that differs from a switch's, in file order.
std::vector<KeyInfo> describe_server_schema();

}  // namespace tributary::config
