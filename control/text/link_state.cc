#include "control/text/link_state.h"

#include <algorithm>

namespace tributary::control {
namespace {

bool takes_peers(const dataplane::Port& port) {
  if (!port.is_device()) return false;
  const config::Devargs& device = port.devargs();
  return port.memif_server() != nullptr ||
         (device.kind->vhost && device.get("client").value_or("0") != "1");
}

// Ranks of an epoch are the first ones, also where a job may have more.
bool has_members(const dataplane::Switch& sw, const std::string& port) {
  const auto jobs = sw.jobs();
  return std::any_of(jobs.begin(), jobs.end(), [&port](const auto& job) {
    const std::uint64_t present = job.engine().counters(job.index).members.get();
    const auto& members = job.config().members;
    return std::any_of(members.begin(), members.end(), [&](const config::MemberConfig& member) {
      return member.port == port && member.rank < present;
    });
  });
}

}  // namespace

const char* name_of(LinkState state) {
  if (state == LinkState::up) return "up";
  return state == LinkState::listening ? "listening" : "down";
}

LinkState link_state(const dataplane::Switch& sw, const dataplane::Port& port) {
  if (port.link().up()) return LinkState::up;
  return takes_peers(port) && !has_members(sw, port.name()) ? LinkState::listening
                                                            : LinkState::down;
}

}  // namespace tributary::control
