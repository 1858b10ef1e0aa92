#include "dataplane/rdma/queue_pair_status.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tributary::dataplane {
namespace {

std::vector<aggregator::MemberStatus> members_of(const aggregator::Engine& engine,
                                                 std::uint32_t job, Instant now) {
  for (std::size_t i = 0; i < engine.job_count(); ++i)
    if (engine.job_config(i).id == job) return engine.job_status(now, i).members;
  return {};
}

std::vector<QueuePairStatus::RankEnd> ranks_at(const aggregator::Engine& engine, std::uint32_t job,
                                               Instant now) {
  std::vector<QueuePairStatus::RankEnd> ranks;
  for (const auto& member : members_of(engine, job, now))
    if (member.present && member.peer.front_end() == FrontEndId::rdma && !is_connected(member.peer))
      ranks.push_back({member.rank, member.peer.flow(), member.peer});
  return ranks;
}

const char* type_of(const Connection& c) {
  return c.is_unreliable() ? "UC" : "RC";
}

std::string transport_of(const Endpoint& peer, const ConnectedRanks& connections) {
  if (peer.front_end() == FrontEndId::udp) return "udp";
  if (peer.front_end() != FrontEndId::rdma) return "";
  if (!is_connected(peer)) return "rdma UD";
  const Connection* const c = connections.find(peer);
  return c == nullptr ? "rdma" : std::string("rdma ") + type_of(*c);
}

}  // namespace

std::vector<QueuePairStatus> queue_pair_status(const QueuePairs& pairs,
                                               const ConnectedRanks& connections,
                                               const aggregator::Engine& engine, Instant now) {
  std::vector<QueuePairStatus> all;
  for (const QueuePair& pair : pairs.all())
    all.push_back({.job = pair.job,
                   .qpn = pair.qpn,
                   .received = pair.counters.received.get(),
                   .received_bytes = pair.counters.received_bytes.get(),
                   .sent = pair.counters.sent.get(),
                   .sent_bytes = pair.counters.sent_bytes.get(),
                   .repair = {},
                   .ranks = ranks_at(engine, pair.job, now)});
  connections.each([&](const Connection& c) {
    const QueuePairStatus::Repair repair{c.counters.resent.get(), c.counters.naks_sent.get(),
                                         c.counters.naks_received.get()};
    all.push_back({.job = c.job,
                   .qpn = c.qpn,
                   .type = type_of(c),
                   .received = c.counters.writes.get(),
                   .received_bytes = c.counters.write_bytes.get(),
                   .sent = c.counters.results.get(),
                   .sent_bytes = c.counters.result_bytes.get(),
                   .repair = c.is_unreliable() ? std::nullopt : std::optional(repair),
                   .ranks = {{c.rank, c.remote_qpn, c.peer}}});
  });
  return all;
}

std::vector<RankTransport> rank_transports(std::uint32_t job, const ConnectedRanks& connections,
                                           const aggregator::Engine& engine, Instant now) {
  std::vector<RankTransport> all;
  for (const auto& member : members_of(engine, job, now)) {
    std::string by = member.is_switch ? "" : transport_of(member.peer, connections);
    if (!by.empty()) all.push_back({member.rank, std::move(by)});
  }
  return all;
}

std::string transports_of(std::span<const std::uint32_t> ranks,
                          std::span<const RankTransport> known) {
  std::vector<std::string_view> found;
  for (const RankTransport& one : known)
    if (std::find(ranks.begin(), ranks.end(), one.rank) != ranks.end() &&
        std::find(found.begin(), found.end(), one.by) == found.end())
      found.push_back(one.by);
  std::string text;
  for (const std::string_view by : found) text.append(text.empty() ? "" : ", ").append(by);
  return text;
}

}  // namespace tributary::dataplane
