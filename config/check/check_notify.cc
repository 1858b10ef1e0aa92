#include "config/check/check_notify.h"

#include <algorithm>

#include "config/model/host_port.h"
#include "config/text/codec.h"
#include "config/text/lift.h"

namespace tributary::config {

// A single switch can only name servers.
HostKinds kinds_without_tree(const JobConfig& job) {
  const auto elsewhere = [](const std::string& name) { return name != kRootHost; };
  return {std::any_of(job.completion_hosts.begin(), job.completion_hosts.end(), elsewhere), false};
}

void check_notify(const JobConfig& job, const std::string& path, const HostKinds& hosts,
                  ReadContext& context) {
  const std::string at = path + ".notify";
  if (job.notify == wire::Notify::root || !context.usable(at) ||
      !context.usable(path + ".completion_hosts"))
    return;
  const bool direct = job.notify == wire::Notify::direct;
  if (!hosts.servers && !hosts.switches) {
    context.report(
        at,
        "only the root finishes chunks of this job; allowed: root, or completion_hosts elsewhere");
  } else if (direct && hosts.switches) {
    context.report(at,
                   "a switch speaks to its own children only; allowed: switch, root, or servers "
                   "and workers alone as completion_hosts");
  } else if (!direct && hosts.servers) {
    context.report(at,
                   "a server or worker has no children of its own; allowed: direct, root, or "
                   "switches of the tree alone as completion_hosts");
  } else if (direct && context.usable(path + ".integrity") &&
             job.integrity == wire::Integrity::crc32c) {
    context.report(at,
                   "packets of a host have a UDP checksum, and workers of this job ask for a "
                   "CRC32C; allowed: integrity: udp-checksum or always, or notify: root");
  }
}

void check_direct_hosts(const SwitchConfig& config, const JobConfig& job, ReadContext& context) {
  if (job.notify != wire::Notify::direct || !context.usable("switch.routes")) return;
  const auto& hosts = config.completion.hosts;
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    const std::string path = item_path("switch.completion.hosts", h) + ".port";
    if (!context.usable(path) || !is_among(job.completion_hosts, hosts[h].name)) continue;
    if (port_toward(config, hosts[h]).empty())
      context.report(path, "is missing; workers of job " + std::to_string(job.id) +
                               " are notified by " + quoted(hosts[h].name) +
                               " itself, which is believed behind one port alone; allowed: the "
                               "name of that port, a route to its router, or notify: root");
  }
}

}  // namespace tributary::config
