#include "control/show/show_rdma.h"

#include <nlohmann/json.hpp>

#include "config/text/codec.h"
#include "control/text/show_text.h"
#include "dataplane/rdma/queue_pair_status.h"

namespace tributary::control {

using nlohmann::ordered_json;

namespace {

using Repair = dataplane::QueuePairStatus::Repair;

// "1: 10.77.0.77 qp 17 at vm", one after the other.
std::string text_of(const std::vector<dataplane::QueuePairStatus::RankEnd>& ranks,
                    const dataplane::Switch& sw) {
  std::string text;
  for (const auto& end : ranks)
    text += (text.empty() ? "" : ", ") + std::to_string(end.rank) + ": " +
            config::format_ipv4(ipv4_of(end.peer.node())) + " qp " + std::to_string(end.qpn) +
            " at " + sw.port_name(end.peer.port());
  return text;
}

ordered_json repair_of(const dataplane::QueuePairStatus& pair, std::uint64_t Repair::*figure) {
  return pair.repair ? ordered_json((*pair.repair).*figure) : ordered_json();
}

}  // namespace

ordered_json show_qps(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  for (std::size_t lcore = 0; lcore < sw.packet_loops().size(); ++lcore) {
    if (sw.packet_loops()[lcore].is_late()) continue;
    const auto seen = on_loop(sw.packet_loops()[lcore], [](dataplane::PacketLoop& w, Instant now) {
      return dataplane::queue_pair_status(w.queue_pairs(), w.connections(), w.engine(), now);
    });
    for (const dataplane::QueuePairStatus& pair : seen)
      rows.push_back({{"job", pair.job},
                      {"lcore", lcore},
                      {"qp", pair.qpn},
                      {"type", pair.type},
                      {"ranks", pair.ranks.size()},
                      {"rx_sends", pair.received},
                      {"rx_bytes", pair.received_bytes},
                      {"tx_sends", pair.sent},
                      {"tx_bytes", pair.sent_bytes},
                      {"resent", repair_of(pair, &Repair::resent)},
                      {"rx_naks", repair_of(pair, &Repair::naks_received)},
                      {"tx_naks", repair_of(pair, &Repair::naks_sent)},
                      {"ends", text_of(pair.ranks, sw)}});
  }
  return rows;
}

}  // namespace tributary::control
