// Checks that tie one key to another. Each function is one rule.
#include "config/check/check.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "config/check/check_acl.h"
#include "config/check/check_degraded.h"
#include "config/check/check_forwarding.h"
#include "config/check/check_lcores.h"
#include "config/check/check_names.h"
#include "config/check/check_notify.h"
#include "config/check/check_open.h"
#include "config/check/check_port.h"
#include "config/check/check_rdma.h"
#include "config/check/check_resize.h"
#include "config/check/check_routes.h"
#include "config/check/check_sums.h"
#include "config/check/check_telemetry.h"
#include "config/plan/device_claims.h"
#include "config/plan/memory_plan.h"
#include "config/plan/own_buffers.h"
#include "config/plan/steering_plan.h"
#include "config/text/codec.h"
#include "config/text/lift.h"

namespace tributary::config {
namespace {

// Keeps the first place of each value; reports later ones.
template <typename Key>
class Unique {
 public:
  explicit Unique(ReadContext& context) : context_(context) {}
  void add(const std::string& path, const Key& key, const std::string& what) {
    if (!context_.usable(path)) return;
    const auto [it, fresh] = first_.emplace(key, path);
    if (!fresh)
      context_.report(path, what + " is already used by " + it->second + " on line " +
                                std::to_string(context_.mark_of(it->second).line));
  }

 private:
  ReadContext& context_;
  std::map<Key, std::string> first_;
};

std::string port_path(std::size_t i, const char* key) {
  return item_path("ports", i) + '.' + key;
}
std::string job_path(std::size_t i, const char* key) {
  return item_path("jobs", i) + '.' + key;
}

// Port names can be checked against only if every name in the list was read.
bool ports_usable(const SwitchConfig& config, const ReadContext& context) {
  if (!context.usable("ports")) return false;
  for (std::size_t i = 0; i < config.ports.size(); ++i)
    if (!context.usable(port_path(i, "name"))) return false;
  return true;
}

const PortConfig* find_port(const SwitchConfig& config, const std::string& name) {
  for (const auto& port : config.ports)
    if (port.name == name) return &port;
  return nullptr;
}

void check_unique_ports(const SwitchConfig& config, ReadContext& context) {
  Unique<std::string> names(context);
  Unique<std::string> devices(context);
  for (std::size_t i = 0; i < config.ports.size(); ++i) {
    const PortConfig& port = config.ports[i];
    names.add(port_path(i, "name"), port.name, "name " + quoted(port.name));
    const std::string device = port.devargs.substr(0, port.devargs.find(','));
    devices.add(port_path(i, "devargs"), device, "device " + quoted(device));
  }
}

void check_device_claims(const SwitchConfig& config, ReadContext& context) {
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < config.ports.size(); ++i) {
    const std::string path = port_path(i, "devargs");
    if (!context.usable(path)) continue;
    for (const DeviceClaim& claim : device_claims(parse_devargs(config.ports[i].devargs))) {
      const auto [it, fresh] = first.emplace(claim.what, i);
      if (fresh || it->second == i) continue;
      context.report(
          path, "port " + quoted(config.ports[i].name) + " wants " + claim.what + ", which port " +
                    quoted(config.ports[it->second].name) + " on line " +
                    std::to_string(context.mark_of(port_path(it->second, "devargs")).line) +
                    " has; allowed: another one for each port");
      break;
    }
  }
}

void check_unique_jobs(const SwitchConfig& config, ReadContext& context) {
  Unique<std::string> names(context);
  std::map<std::uint32_t, std::size_t> groups;
  for (std::size_t i = 0; i < config.jobs.size(); ++i) {
    const JobConfig& job = config.jobs[i];
    if (context.usable(job_path(i, "id")))
      names.add(job_path(i, "name"), job.name, "name " + quoted(job.name));
    if (!context.usable(job_path(i, "id"))) continue;
    const auto [it, fresh] = groups.emplace(job_group_ipv4(job.id), i);
    if (fresh) continue;
    const JobConfig& other = config.jobs[it->second];
    if (other.id == job.id)
      context.report(job_path(i, "id"), "id " + std::to_string(job.id) + " is already used by " +
                                            item_path("jobs", it->second));
    else
      context.report(job_path(i, "id"),
                     "shares its low 16 bits with id " + std::to_string(other.id) + " of " +
                         item_path("jobs", it->second) +
                         ", so both would use the multicast group " + format_ipv4(it->first) +
                         "; allowed: ids that differ modulo 65536");
  }
}

void check_members(const SwitchConfig& config, ReadContext& context) {
  for (std::size_t i = 0; i < config.jobs.size(); ++i) {
    const JobConfig& job = config.jobs[i];
    Unique<std::uint32_t> ranks(context);
    for (std::size_t m = 0; m < job.members.size(); ++m) {
      const std::string member = item_path(job_path(i, "members"), m);
      const std::uint32_t rank = job.members[m].rank;
      ranks.add(member + ".rank", rank, "rank " + std::to_string(rank));
      if (context.usable(member + ".rank") && context.usable(job_path(i, "workers")) &&
          rank >= job.workers)
        context.report(member + ".rank", "rank " + std::to_string(rank) + " is outside the job; " +
                                             "allowed: 0 to " + std::to_string(job.workers - 1) +
                                             " (workers: " + std::to_string(job.workers) + ")");
      check_port_exists(config, context, member + ".port", job.members[m].port);
    }
  }
}

// Protocol rule 17: a chunk's packet, with room for extensions, fits every port it may take. If
// packets may be cut, any fits: the largest is a sixth of the size that IPv4 can carry.
static_assert(kMaxChunkBytes + 0x1000 < 0xFFFF);
void check_chunk_fits_mtu(const SwitchConfig& config, ReadContext& context) {
  if (takes_fragments(config)) return;
  for (std::size_t i = 0; i < config.jobs.size(); ++i) {
    const JobConfig& job = config.jobs[i];
    const std::size_t metadata = config.telemetry.enabled() ? metadata_bytes(job.telemetry) : 0;
    const std::size_t overhead = kFrameOverheadBytes - wire::kEthernetBytes - wire::kVlanBytes +
                                 coverage_bytes(job) + metadata;
    if (!context.usable(job_path(i, "chunk_bytes"))) continue;
    for (std::size_t p = 0; p < config.ports.size(); ++p) {
      const PortConfig& port = config.ports[p];
      if (!context.usable(port_path(p, "mtu")) || job.chunk_bytes + overhead <= port.mtu) continue;
      if (!uses_port(config, job, port)) continue;
      const std::size_t room = port.mtu > overhead ? (port.mtu - overhead) / 8 * 8 : 0;
      context.report(job_path(i, "chunk_bytes"),
                     std::to_string(job.chunk_bytes) + " bytes and " + std::to_string(overhead) +
                         " of headers exceed the MTU of port " + quoted(port.name) + ", " +
                         std::to_string(port.mtu) + "; allowed: at most " + std::to_string(room) +
                         ", an mtu of at least " + std::to_string(job.chunk_bytes + overhead) +
                         ", or switch.fragments.datagrams for packets that are cut");
      break;
    }
  }
}

void check_udp_ports(const SwitchConfig& config, ReadContext& context) {
  constexpr std::uint32_t kRocePort = 4791;
  if (!context.usable("switch.udp_base_port")) return;
  std::uint32_t shards = 1;
  for (std::size_t i = 0; i < config.jobs.size(); ++i)
    if (context.usable(job_path(i, "shards")))
      shards = std::max<std::uint32_t>(shards, udp_ports(config.jobs[i]));
  const std::uint32_t first = config.udp_base_port;
  const std::uint32_t last = first + shards - 1;
  const std::string range = "ports " + std::to_string(first) + " to " + std::to_string(last);
  if (last > 65535)
    context.report("switch.udp_base_port", range + " of " + std::to_string(shards) +
                                               " shards pass 65535; allowed: at most " +
                                               std::to_string(65536 - shards));
  if (first <= kRocePort && kRocePort <= last)
    context.report("switch.udp_base_port",
                   range + " include 4791, which is RoCEv2's; allowed: below " +
                       std::to_string(kRocePort + 1 - shards) + " or above 4791");
}

void check_static_macs(const SwitchConfig& config, ReadContext& context) {
  Unique<wire::MacAddress> macs(context);
  const auto& list = config.forwarding.static_macs;
  const wire::MacAddress own = config.mac.value_or(derived_mac(config.ipv4));
  const bool own_known = context.usable("switch.mac") && context.usable("switch.address");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string path = item_path("forwarding.static_macs", i);
    macs.add(path + ".mac", list[i].mac, "address " + format_mac(list[i].mac));
    if (own_known && context.usable(path + ".mac") && list[i].mac == own)
      context.report(path + ".mac", "is the switch's own address; allowed: any other");
    check_port_exists(config, context, path + ".port", list[i].port);
  }
  if (context.usable("forwarding.fdb_entries") && list.size() > config.forwarding.fdb_entries)
    context.report("forwarding.fdb_entries", std::to_string(config.forwarding.fdb_entries) +
                                                 " entries cannot hold " +
                                                 std::to_string(list.size()) + " static addresses");
}

void check_memory(const SwitchConfig& config, ReadContext& context) {
  if (!context.usable("switch.memory.megabytes") || !context.usable("ports")) return;
  for (std::size_t i = 0; i < config.ports.size(); ++i)
    if (!context.usable(port_path(i, "mtu"))) return;
  for (std::size_t i = 0; i < config.jobs.size(); ++i)
    if (!context.usable(job_path(i, "chunk_bytes"))) return;
  const std::size_t own = own_buffers(config);
  const std::size_t bytes = least_dpdk_bytes(config) + own * kOwnBufferBytes;
  const std::size_t needed = (bytes + (1u << 20) - 1) >> 20;
  if (needed <= config.memory.megabytes) return;
  const std::string spare =
      config.memory.spare_queues == 0
          ? ""
          : ", " + std::to_string(config.memory.spare_queues) + " spare pairs of queues";
  context.report("switch.memory.megabytes",
                 std::to_string(config.memory.megabytes) + " MiB cannot hold " +
                     std::to_string(least_buffers(config)) + " packet buffers of " +
                     std::to_string(buffer_data_bytes(config)) + " bytes" +
                     (own == 0 ? "" : ", and " + std::to_string(own) + " of a page for XDP,") +
                     " for " + std::to_string(config.ports.size()) + " ports" + spare +
                     " and what DPDK itself takes; allowed: at least " + std::to_string(needed));
}

// Checks the engines that this switch hosts for roots above.
void check_hosted(const SwitchConfig& config, ReadContext& context) {
  constexpr std::uint32_t kRocePort = 4791;
  if (!hosts_engines(config)) return;
  const std::uint64_t needed = (least_hosted_bytes(config) + (1u << 20) - 1) >> 20;
  if (context.usable("switch.completion.hosted_megabytes") &&
      needed > config.completion.hosted_megabytes)
    context.report("switch.completion.hosted_megabytes",
                   std::to_string(config.completion.hosted_megabytes) +
                       " MiB cannot hold one chunk and the kept results of every job hosted here; "
                       "allowed: at least " +
                       std::to_string(needed));
  const std::uint32_t port = std::uint32_t{config.udp_base_port} + kMaxShards;
  if (context.usable("switch.udp_base_port") && (port > 65535 || port == kRocePort))
    context.report("switch.udp_base_port",
                   "a switch that hosts completion engines needs port " + std::to_string(port) +
                       ", " + std::to_string(kMaxShards) + " more, for them; allowed: at most " +
                       std::to_string(65535 - kMaxShards) + ", and not " +
                       std::to_string(kRocePort - kMaxShards));
}

// A port name that is not allowed counts as none.
void check_completion_hosts(const SwitchConfig& config, ReadContext& context) {
  Unique<std::string> names(context);
  Unique<std::uint32_t> addresses(context);
  const auto& hosts = config.completion.hosts;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string path = item_path("switch.completion.hosts", i);
    names.add(path + ".name", hosts[i].name, "name " + quoted(hosts[i].name));
    addresses.add(path + ".address", hosts[i].ipv4, "address " + format_ipv4(hosts[i].ipv4));
    if (context.usable(path + ".name") && hosts[i].name == kRootHost)
      context.report(path + ".name", "means the switch itself; allowed: any other name");
    if (context.usable(path + ".address") && hosts[i].ipv4 == config.ipv4)
      context.report(path + ".address", "is the switch's own; allowed: a server's");
    if (!hosts[i].port.empty()) check_port_exists(config, context, path + ".port", hosts[i].port);
  }
}

bool is_completion_host(const SwitchConfig& config, const std::string& name) {
  const auto& hosts = config.completion.hosts;
  return name == kRootHost || std::any_of(hosts.begin(), hosts.end(),
                                          [&](const auto& host) { return host.name == name; });
}

void check_job_hosts(const SwitchConfig& config, ReadContext& context) {
  if (!context.usable("switch.completion.hosts")) return;
  for (std::size_t i = 0; i < config.jobs.size(); ++i) {
    const JobConfig& job = config.jobs[i];
    const std::string list = job_path(i, "completion_hosts");
    Unique<std::string> names(context);
    for (std::size_t h = 0; h < job.completion_hosts.size(); ++h) {
      const std::string& name = job.completion_hosts[h];
      const std::string path = item_path(list, h);
      names.add(path, name, "host " + quoted(name));
      if (!context.usable(path) || job.parent) continue;  // in a tree, the root checks it
      if (!is_completion_host(config, name))
        context.report(path, "there is no completion host " + quoted(name) +
                                 "; allowed: root, or a name in switch.completion.hosts");
      if (name == kRootHost && h + 1 < job.completion_hosts.size())
        context.report(path,
                       "never falls silent, so no host would follow it; allowed: as the last");
    }
    // In a tree, check_host_switches() knows the kind of each host.
    if (config.id != 0) continue;
    check_notify(job, item_path("jobs", i), kinds_without_tree(job), context);
    check_direct_hosts(config, job, context);
  }
}

void check_stragglers(const SwitchConfig& config, ReadContext& context) {
  for (std::size_t i = 0; i < config.jobs.size(); ++i) {
    check_degraded(config.jobs[i], item_path("jobs", i), true, context);
    check_resize(config.jobs[i], item_path("jobs", i), context);
    const auto mistake = mistake_in(config.jobs[i].stragglers);
    if (!mistake) continue;
    const std::string path = job_path(i, "stragglers") + '.' + mistake->key;
    if (context.usable(path)) context.report(path, mistake->text);
  }
}

void check_completion(const SwitchConfig& config, ReadContext& context) {
  if (!context.usable("switch.completion.megabytes")) return;
  for (std::size_t i = 0; i < config.jobs.size(); ++i)
    if (!context.usable(job_path(i, "chunk_bytes")) || !context.usable(job_path(i, "workers")))
      return;
  const std::uint64_t needed = (least_completion_bytes(config) + (1u << 20) - 1) >> 20;
  if (needed <= config.completion.megabytes) return;
  context.report(
      "switch.completion.megabytes",
      std::to_string(config.completion.megabytes) +
          " MiB cannot hold one chunk of every job, workers x chunk_bytes each; allowed: "
          "at least " +
          std::to_string(needed));
}

}  // namespace

void check_port_exists(const SwitchConfig& config, ReadContext& context, const std::string& path,
                       const std::string& name) {
  if (find_port(config, name) != nullptr) return;
  if (!context.usable(path) || !ports_usable(config, context)) return;
  std::string names;
  for (const auto& port : config.ports) names += (names.empty() ? "" : ", ") + port.name;
  context.report(path, "there is no port " + quoted(name) + "; allowed: " + names);
}

void check(const SwitchConfig& config, ReadContext& context) {
  check_unique_ports(config, context);
  check_device_claims(config, context);
  check_unique_jobs(config, context);
  check_members(config, context);
  check_chunk_fits_mtu(config, context);
  check_lcores(config, context);
  check_sums(config, context);
  check_udp_ports(config, context);
  check_static_macs(config, context);
  check_forwarding(config, context);
  check_acl(config, context);
  check_routes(config, context);
  check_memory(config, context);
  check_completion(config, context);
  check_hosted(config, context);
  check_completion_hosts(config, context);
  check_job_hosts(config, context);
  check_stragglers(config, context);
  check_telemetry(config, context);
  check_rdma(config, context);
  check_names(config, context);
  check_open_jobs(config, context);
}

}  // namespace tributary::config
