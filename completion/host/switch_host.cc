#include "completion/host/switch_host.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <string>

#include "completion/pieces/limits.h"
#include "config/plan/memory_plan.h"
#include "core/net/udp_peer.h"
#include "core/wire/rank_bitmap.h"

namespace tributary::completion {

using aggregator::Outgoing;

namespace {

constexpr Duration kLookAgain = Duration::ms(1);

std::vector<ServedJob> jobs_of(const config::SwitchConfig& config) {
  std::vector<ServedJob> all;
  for (const config::JobConfig& job : config.jobs) {
    if (!job.hosting) continue;
    ServedJob& served = all.emplace_back();
    served.limits = limits_of(job);
    served.limits.root_is_here = false;
    served.limits.bytes = config::hosted_share(config, job);
    served.root_ipv4 = job.hosting->root_ipv4;
    served.root_udp_port = config.udp_base_port;  // the same in the whole tree
    served.integrity = job.integrity;
  }
  return all;
}

std::vector<std::uint64_t> ranks_below(const config::JobConfig& job) {
  std::vector<std::uint64_t> ranks(wire::rank_words(job.workers));
  for (const config::ChildConfig& child : job.children)
    for (const std::uint32_t rank : child.ranks) ranks[rank / 64] |= std::uint64_t{1} << rank % 64;
  return ranks;
}

}  // namespace

SwitchHost::SwitchHost(const config::SwitchConfig& config, std::uint64_t nonce)
    : server_(jobs_of(config),
              {.ipv4 = config.ipv4, .nonce = nonce, .heartbeat = config.completion.heartbeat}),
      outbox_(server_.outbox_capacity()) {
  for (const config::JobConfig& job : config.jobs) {
    if (!job.hosting) continue;
    const auto uplink = std::find_if(config.ports.begin(), config.ports.end(),
                                     [&](const auto& p) { return p.name == job.parent->uplink; });
    ways_.push_back({job.id, static_cast<std::uint16_t>(uplink - config.ports.begin()),
                     *job.hosting, job.notify == wire::Notify::host_switch, ranks_below(job)});
  }
  std::uint64_t taken = 0;
  for (std::size_t seat = 0; seat < server_.seat_count(); ++seat)
    taken += server_.engine(seat).limits(0).bytes;
  if (taken > config::hosted_bytes(config))
    throw std::logic_error("hosted engines: " + std::to_string(taken) + " bytes taken, " +
                           std::to_string(config::hosted_bytes(config)) + " planned");
}

const SwitchHost::Way* SwitchHost::find_way(std::uint32_t job) const {
  const auto way =
      std::find_if(ways_.begin(), ways_.end(), [job](const Way& w) { return w.job == job; });
  return way == ways_.end() ? nullptr : &*way;
}

bool SwitchHost::tells(std::uint32_t job) const {
  const Way* const way = find_way(job);
  return way != nullptr && way->tells_here;
}

DropReason SwitchHost::on_packet(const wire::Packet& packet, const Endpoint& from, Instant now) {
  const Way* const way = find_way(packet.header.job);
  if (way == nullptr) return DropReason::unknown_job;
  if (from.port() != way->port || from.station() != wire::station_of(way->root.root_mac) ||
      from.segment())
    return DropReason::sender_mismatch;
  const DropReason what = server_.on_packet(packet, from, now, outbox_);
  address();
  return what;
}

// A resent sum is wanted by the root: the engine here may be one that the root does not listen to
// any more.
bool SwitchHost::take_own(const Outgoing& said, Instant now) {
  const Way* const way = find_way(said.header.job);
  if (way == nullptr || said.header.type != wire::PacketType::aggregate ||
      (said.header.flags & wire::kFlagResend) != 0 || !outbox_.items().empty())
    return false;
  std::array<std::byte, wire::kMaxExtensionBytes> room;
  const auto own = said.extension_span();
  std::copy(own.begin(), own.end(), room.begin());
  const std::span all(room);
  wire::ExtensionWriter ext(all.subspan(own.size()));
  if (!wire::add_rank_bitmaps(ext, way->own_ranks)) return false;
  wire::Packet escalation{said.header, all.first(own.size() + ext.bytes().size()), said.payload};
  escalation.header.type = wire::PacketType::escalation;
  escalation.header.reason = wire::Reason::deadline;
  const bool taken = server_.take_own(escalation, now, outbox_);
  address();
  return taken;
}

bool SwitchHost::expire(Instant now) {
  if (now < next_look_) return false;
  if (server_.expire(now, outbox_)) {
    address();
    return true;
  }
  next_look_ = now + kLookAgain;
  return false;
}

void SwitchHost::shut_down() {
  server_.shut_down(outbox_);
  address();
}

// The way is known before the root has sent anything.
void SwitchHost::address() {
  for (std::size_t i = 0; i < outbox_.items().size(); ++i) {
    Outgoing& said = outbox_.item(i);
    const Way* const way = find_way(said.header.job);
    said.to = Outgoing::To::hosted_root;
    const wire::UdpPeer said_to(said.peer);
    said.peer = wire::UdpPeer(way->port, said_to.udp_port, said_to.ipv4, {}, way->root.root_mac);
  }
}

}  // namespace tributary::completion
