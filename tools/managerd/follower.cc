#include "tools/managerd/follower.h"

#include <chrono>
#include <cstdio>

#include "manager/api/standby.h"
#include "manager/etcd/campaign.h"
#include "tools/managerd/metrics.h"

namespace tributary::managerd {
namespace {

std::string with_port(const std::string& address, int port) {
  const std::size_t colon = address.rfind(':');
  return colon == std::string::npos ? address : address.substr(0, colon + 1) + std::to_string(port);
}

}  // namespace

std::unique_ptr<manager::Leadership> follow(manager::EtcdConnection& etcd, Options& options,
                                            SetupFiles& files, tools::Daemon& daemon,
                                            const std::function<void()>& announce) {
  manager::Campaign campaign(etcd);
  const manager::Standby standby(options.listen, [&campaign] { return campaign.state().text; });
  const FollowerMetrics http(options.http, [&campaign] {
    const manager::Campaign::State state = campaign.state();
    return control::HttpPage{state.follows ? 200u : 503u, "text/plain", state.text + "\n"};
  });
  if (!options.listen.address.empty())
    options.listen.address = with_port(options.listen.address, standby.port());
  options.http = with_port(options.http, http.port());
  campaign.start({options.name, options.listen.address.empty() ? "unix:" + options.listen.socket
                                                               : options.listen.address},
                 std::chrono::seconds(static_cast<std::int64_t>(options.lead_lease_s)));
  std::printf("follows as %s; socket %s, port %d, HTTP port %d\n", options.name.c_str(),
              options.listen.socket.c_str(), standby.port(), http.port());
  std::fflush(stdout);
  announce();
  // A daemon that is to stop gives up what it may have won meanwhile.
  if (daemon.wait({[&files] { reload(files, [](const auto&) {}); },
                   [&campaign] { return campaign.turns(); },
                   [&campaign] { return campaign.is_won(); }}))
    return nullptr;
  return campaign.take();
}

}  // namespace tributary::managerd
