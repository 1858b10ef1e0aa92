#include "config/check/check_notify.h"

#include <algorithm>

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
             job.integrity != wire::Integrity::udp_checksum) {
    context.report(at,
                   "packets of a host have a UDP checksum, and workers of this job ask for a "
                   "CRC32C; allowed: integrity: udp-checksum, or notify: root");
  }
}

}  // namespace tributary::config
