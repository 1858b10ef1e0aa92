#include "completion/host/switch_host.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "completion/pieces/limits.h"
#include "config/plan/memory_plan.h"
#include "core/wire/rank_bitmap.h"

namespace tributary::completion {

using aggregator::Outgoing;

namespace {

constexpr Duration kLookAgain = Duration::ms(1);

ServedJob served(const config::JobConfig& job, std::vector<Endpoint> roots, std::uint64_t bytes) {
  ServedJob served;
  served.limits = limits_of(job);
  served.limits.root_is_here = false;
  served.limits.bytes = bytes;
  served.roots = std::move(roots);
  served.integrity = job.integrity;
  return served;
}

std::uint16_t uplink_of(const config::SwitchConfig& config, const config::JobConfig& job) {
  const auto uplink = std::find_if(config.ports.begin(), config.ports.end(),
                                   [&](const auto& p) { return p.name == job.parent->uplink; });
  return static_cast<std::uint16_t>(uplink - config.ports.begin());
}

config::Demand demand_of(const config::JobConfig& job) {
  return {config::least_served_bytes(job), config::most_served_bytes(job)};
}

std::uint64_t taken_by(const Server& server) {
  std::uint64_t bytes = 0;
  for (std::size_t seat = 0; seat < server.seat_count(); ++seat)
    bytes += server.engine(seat).limits(0).bytes;
  return bytes;
}

std::vector<std::uint64_t> ranks_below(const config::JobConfig& job) {
  std::vector<std::uint64_t> ranks(wire::rank_words(job.workers));
  for (const config::ChildConfig& child : job.children)
    for (const std::uint32_t rank : child.ranks) ranks[rank / 64] |= std::uint64_t{1} << rank % 64;
  return ranks;
}

}  // namespace

// Jobs that stay keep their memory; those that come share what is left.
SwitchHost::SwitchHost(const config::SwitchConfig& config, const aggregator::AddressBook& addresses,
                       std::uint64_t nonce, const SwitchHost* running) {
  std::uint64_t left = config::hosted_budget(config);
  std::uint64_t needed = 0;
  std::vector<config::Demand> demands;
  const auto before = [running](const config::JobConfig& job) {
    return running == nullptr ? nullptr : running->find_way(job.id);
  };
  for (const config::JobConfig& job : config.jobs) {
    if (!job.hosting) continue;
    if (const Way* const way = before(job)) {
      left -= std::min(left, taken_by(*way->server));
    } else {
      demands.push_back(demand_of(job));
      needed += demands.back().least;
    }
  }
  if (needed > left)
    throw std::invalid_argument("of switch.completion.hosted_megabytes " + std::to_string(left) +
                                " of " + std::to_string(config::hosted_budget(config)) +
                                " bytes are left; the jobs that come need " +
                                std::to_string(needed));
  for (const config::JobConfig& job : config.jobs) {
    if (!job.hosting) continue;
    std::unique_ptr<Server> server;
    if (before(job) == nullptr) {
      const std::array one = {served(job, addresses.root(config, job, uplink_of(config, job)),
                                     config::share_of(left, demands, demand_of(job)))};
      server = std::make_unique<Server>(
          one, ServerIdentity{
                   .ipv4 = config.ipv4, .nonce = nonce, .heartbeat = config.completion.heartbeat});
    }
    ways_.push_back(
        {job.id, std::move(server), job.notify == wire::Notify::host_switch, ranks_below(job)});
  }
  outbox_ = aggregator::Outbox(outbox_capacity(running));
}

void SwitchHost::adopt(SwitchHost& running) {
  for (Way& way : ways_)
    for (Way& other : running.ways_)
      if (way.server == nullptr && other.job == way.job) way.server = std::move(other.server);
}

// Every server's heartbeats, and the longest answer of one.
std::size_t SwitchHost::outbox_capacity(const SwitchHost* running) const {
  std::size_t longest = 0;
  std::size_t heartbeats = 0;
  for (const Way& way : ways_) {
    const Server& server = way.server ? *way.server : *running->find_way(way.job)->server;
    longest = std::max(longest, server.outbox_capacity());
    heartbeats += server.seat_count() + 1;
  }
  return longest + heartbeats;
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
  const DropReason what = way->server->on_packet(packet, from, now, outbox_);
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
  const bool taken = way->server->take_own(escalation, now, outbox_);
  address();
  return taken;
}

bool SwitchHost::expire(Instant now) {
  if (now < next_look_) return false;
  for (const Way& way : ways_) way.server->expire(now, outbox_);
  if (!outbox_.items().empty()) {
    address();
    return true;
  }
  next_look_ = now + kLookAgain;
  return false;
}

void SwitchHost::shut_down() {
  for (const Way& way : ways_) way.server->shut_down(outbox_);
  address();
}

void SwitchHost::address() {
  for (std::size_t i = 0; i < outbox_.items().size(); ++i)
    outbox_.item(i).to = Outgoing::To::hosted_root;
}

}  // namespace tributary::completion
