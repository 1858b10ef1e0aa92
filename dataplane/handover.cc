#include "dataplane/handover.h"

#include <rte_mbuf.h>

#include "dataplane/socket_memory.h"

namespace tributary::dataplane {

Handover::Handover(std::size_t lcores, std::span<const int> sockets) : lcores_(lcores) {
  for (std::size_t i = 0; i < lcores * lcores; ++i) {
    const std::size_t to = i % lcores;
    const SocketMemory memory(to < sockets.size() ? sockets[to] : config::kAnySocket);
    paths_.push_back(i / lcores == to ? nullptr : std::make_unique<HandoverPath>());
  }
}

Handover::~Handover() {
  Handed handed;
  for (const auto& path : paths_)
    while (path != nullptr && path->frames.pop(handed)) rte_pktmbuf_free(handed.frame);
}

HandoverEnd::HandoverEnd(Handover& handover, std::size_t own)
    : handover_(handover), own_(own), staged_(handover.lcores()) {}

HandoverEnd::~HandoverEnd() {
  for (const Staged& staged : staged_)
    for (const Handed& handed : std::span(staged.frames).first(staged.count))
      rte_pktmbuf_free(handed.frame);
}

void HandoverEnd::give(std::size_t to, const Handed& frame, Lanes& lanes) {
  Staged& staged = staged_[to];
  staged.frames[staged.count++] = frame;
  if (staged.count == staged.frames.size()) flush_to(to, lanes);
}

void HandoverEnd::announce(const Learned& address) {
  for (std::size_t to = 0; to < lcores(); ++to) {
    if (to == own_) continue;
    HandoverPath& path = handover_.path(own_, to);
    (path.addresses.push(Learned(address)) ? path.counters.addresses : path.counters.addresses_lost)
        .add();
  }
}

std::size_t HandoverEnd::flush(Lanes& lanes) {
  std::size_t gone = 0;
  for (std::size_t to = 0; to < staged_.size(); ++to)
    if (staged_[to].count != 0) gone += flush_to(to, lanes);
  return gone;
}

std::size_t HandoverEnd::flush_to(std::size_t to, Lanes& lanes) {
  HandoverPath& path = handover_.path(own_, to);
  const std::span<Handed> all = std::span(staged_[to].frames).first(staged_[to].count);
  const std::size_t taken = path.frames.push_burst(all);
  path.counters.frames.add(taken);
  path.counters.full.add(all.size() - taken);
  for (const Handed& left : all.subspan(taken))
    drop(*lanes[left.port], left.frame, DropReason::handover_full);
  staged_[to].count = 0;
  return taken;
}

std::span<Handed> HandoverEnd::take(std::size_t from, std::span<Handed> into) {
  return into.first(handover_.path(from, own_).frames.pop_burst(into));
}
std::span<Learned> HandoverEnd::take(std::size_t from, std::span<Learned> into) {
  return into.first(handover_.path(from, own_).addresses.pop_burst(into));
}

}  // namespace tributary::dataplane
