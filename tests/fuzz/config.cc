// Switch configurations: a file is refused with every mistake placed, or accepted whole; then its
// canonical form reads back the same, and what follows from it is within the limits.
#include <set>
#include <string>

#include "config/load/load.h"
#include "config/plan/memory_plan.h"
#include "config/schema/schema.h"
#include "tests/fuzz/yaml_property.h"

namespace tributary::fuzz {
namespace {

// The promise of config/load/load.h to all code behind it.
void check_accepted(const config::SwitchConfig& c) {
  FUZZ_CHECK(!c.ports.empty() && c.ports.size() <= config::kMaxPorts);
  FUZZ_CHECK(c.jobs.size() <= config::kMaxJobs);
  std::set<std::string> ports;
  for (const auto& port : c.ports) {
    FUZZ_CHECK(ports.insert(port.name).second && !port.devargs.empty());
    FUZZ_CHECK(port.mtu >= config::kMinMtu && port.mtu <= config::kMaxMtu);
  }
  std::set<std::uint32_t> groups;
  for (const auto& job : c.jobs) {
    FUZZ_CHECK(groups.insert(config::job_group_ipv4(job.id)).second);
    FUZZ_CHECK(job.workers >= 1 && job.workers <= config::kMaxWorkers);
    FUZZ_CHECK(job.window >= 1 && job.window <= config::kMaxWindow);
    FUZZ_CHECK((job.window & (job.window - 1)) == 0);
    FUZZ_CHECK(job.chunk_bytes % 8 == 0 && job.chunk_bytes <= config::kMaxChunkBytes);
    FUZZ_CHECK(job.shards >= 1 && job.shards <= config::kMaxShards);
    FUZZ_CHECK(job.deadline >= config::kMinDeadline && job.lease >= config::kMinLease);
    for (const auto& member : job.members)
      FUZZ_CHECK(member.rank < job.workers && ports.contains(member.port));
    FUZZ_CHECK(c.udp_base_port + job.shards - 1 <= 0xFFFF);
  }
  for (const auto& fixed : c.forwarding.static_macs) {
    FUZZ_CHECK(ports.contains(fixed.port));
    FUZZ_CHECK(!wire::is_multicast(fixed.mac) && !wire::is_zero(fixed.mac));
  }
  FUZZ_CHECK(c.acl.rules.size() <= config::kMaxAclRules);
  for (const auto& rule : c.acl.rules) {
    FUZZ_CHECK(rule.port.empty() || ports.contains(rule.port));
    for (const auto& prefix : {rule.source, rule.destination})
      FUZZ_CHECK(!prefix || prefix->bits <= (prefix->is_ipv6 ? 128 : 32));
    FUZZ_CHECK(!rule.vlan || (rule.vlan->first <= rule.vlan->last && rule.vlan->last <= 4094));
  }
  for (const auto& port : c.ports) {
    FUZZ_CHECK((port.vlan.mode == config::VlanMode::access) == port.vlan.id.has_value());
    FUZZ_CHECK(!port.vlan.native || port.vlan.mode == config::VlanMode::trunk);
  }
  for (const auto& name : c.forwarding.snooping.router_ports) FUZZ_CHECK(ports.contains(name));
  FUZZ_CHECK(config::least_dpdk_bytes(c) <= std::size_t{c.memory.megabytes} << 20);
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  const auto accepted =
      fuzz::check_yaml(fuzz::as_text(data, size), config::parse_switch_config, config::dump);
  if (accepted) fuzz::check_accepted(*accepted);
  return 0;
}
