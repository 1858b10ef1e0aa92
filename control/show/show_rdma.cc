// `show qps`: the switch's queue pairs, and the ranks that are on the other end of each.
#include <nlohmann/json.hpp>

#include "config/text/codec.h"
#include "control/show/show.h"
#include "control/text/show_text.h"

namespace tributary::control {

using nlohmann::ordered_json;

namespace {

struct RankEnd {
  std::uint32_t rank = 0;
  std::uint32_t qpn = 0;
  Endpoint peer;
};
struct PairSeen {
  std::uint32_t job = 0;
  std::uint32_t qpn = 0;
  const char* type = "UD";
  std::uint64_t received = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;
  std::vector<RankEnd> ranks;
};

std::vector<RankEnd> ranks_of(const dataplane::PacketLoop& loop, std::uint32_t job, Instant now) {
  std::vector<RankEnd> ranks;
  for (std::size_t i = 0; i < loop.engine().job_count(); ++i) {
    if (loop.engine().job_config(i).id != job) continue;
    for (const auto& member : loop.engine().job_status(now, i).members)
      if (member.present && member.peer.front_end() == FrontEndId::rdma &&
          !dataplane::is_connected(member.peer))
        ranks.push_back({member.rank, member.peer.flow(), member.peer});
  }
  return ranks;
}

std::vector<PairSeen> pairs_of(const dataplane::PacketLoop& loop, Instant now) {
  std::vector<PairSeen> all;
  for (const dataplane::QueuePair& pair : loop.queue_pairs().all())
    all.push_back({pair.job, pair.qpn, "UD", pair.counters.received.get(),
                   pair.counters.received_bytes.get(), pair.counters.sent.get(),
                   pair.counters.sent_bytes.get(), ranks_of(loop, pair.job, now)});
  loop.connections().each([&](const dataplane::Connection& c) {
    all.push_back({c.job,
                   c.qpn,
                   c.is_unreliable() ? "UC" : "RC",
                   c.counters.writes.get(),
                   c.counters.write_bytes.get(),
                   c.counters.results.get(),
                   c.counters.result_bytes.get(),
                   {{c.rank, c.remote_qpn, c.peer}}});
  });
  return all;
}

// "1: 10.77.0.77 qp 17 at vm", one after the other.
std::string text_of(const std::vector<RankEnd>& ranks, const dataplane::Switch& sw) {
  std::string text;
  for (const RankEnd& end : ranks)
    text += (text.empty() ? "" : ", ") + std::to_string(end.rank) + ": " +
            config::format_ipv4(ipv4_of(end.peer.node())) + " qp " + std::to_string(end.qpn) +
            " at " + sw.port_name(end.peer.port());
  return text;
}

}  // namespace

ordered_json Show::qps() {
  ordered_json rows = ordered_json::array();
  for (std::size_t lcore = 0; lcore < switch_.packet_loops().size(); ++lcore) {
    if (switch_.packet_loops()[lcore].is_late()) continue;
    const auto seen =
        on_loop(switch_.packet_loops()[lcore],
                [](dataplane::PacketLoop& w, Instant now) { return pairs_of(w, now); });
    for (const PairSeen& pair : seen)
      rows.push_back({{"job", pair.job},
                      {"lcore", lcore},
                      {"qp", pair.qpn},
                      {"type", pair.type},
                      {"ranks", pair.ranks.size()},
                      {"rx_sends", pair.received},
                      {"rx_bytes", pair.received_bytes},
                      {"tx_sends", pair.sent},
                      {"tx_bytes", pair.sent_bytes},
                      {"ends", text_of(pair.ranks, switch_)}});
  }
  return rows;
}

}  // namespace tributary::control
