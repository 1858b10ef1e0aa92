#include "dataplane/io/handover.h"

#include <rte_mbuf.h>

#include "dataplane/host/socket_memory.h"

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
    if (path != nullptr)
      for (SpscRing<Handed>& ring : path->rings)
        while (ring.pop(handed)) rte_pktmbuf_free(handed.frame);
}

HandoverEnd::HandoverEnd(Handover& handover, std::size_t own)
    : handover_(handover), own_(own), staged_(handover.lcores()) {}

HandoverEnd::~HandoverEnd() {
  for (const StagedOfClasses& classes : staged_)
    for (const Staged& staged : classes)
      for (const Handed& handed : std::span(staged.frames).first(staged.count))
        rte_pktmbuf_free(handed.frame);
}

void HandoverEnd::give(std::size_t to, const Handed& frame, Lanes& lanes) {
  const TrafficClass traffic = frame.ring();
  Staged& staged = staged_[to][static_cast<std::size_t>(traffic)];
  staged.frames[staged.count++] = frame;
  if (staged.count == staged.frames.size()) flush_to(to, traffic, lanes);
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
    for (const TrafficClass traffic : {TrafficClass::jobs, TrafficClass::others})
      if (staged_[to][static_cast<std::size_t>(traffic)].count != 0)
        gone += flush_to(to, traffic, lanes);
  return gone;
}

std::size_t HandoverEnd::flush_to(std::size_t to, TrafficClass traffic, Lanes& lanes) {
  const auto of_class = static_cast<std::size_t>(traffic);
  HandoverPath& path = handover_.path(own_, to);
  Staged& staged = staged_[to][of_class];
  const std::span<Handed> all = std::span(staged.frames).first(staged.count);
  const std::size_t taken = path.ring(traffic).push_burst(all);
  path.counters.frames[of_class].add(taken);
  path.counters.full[of_class].add(all.size() - taken);
  for (const Handed& left : all.subspan(taken))
    drop(*lanes[left.port], left.frame, DropReason::handover_full);
  staged.count = 0;
  return taken;
}

void HandoverEnd::publish_backlog(std::uint16_t port, std::size_t frames) {
  std::atomic<std::size_t>& last = handover_.backlog(port);
  if (last.load(std::memory_order_relaxed) != frames) last.store(frames, std::memory_order_relaxed);
}

std::size_t HandoverEnd::backlog(std::size_t to, std::uint16_t port) const {
  constexpr auto kJobs = static_cast<std::size_t>(TrafficClass::jobs);
  const std::size_t on_the_way =
      staged_[to][kJobs].count + handover_.path(own_, to).ring(TrafficClass::jobs).size();
  return on_the_way * (lcores() - 1) + handover_.backlog(port).load(std::memory_order_relaxed);
}

std::span<Handed> HandoverEnd::take(std::size_t from, std::span<Handed> into) {
  HandoverPath& path = handover_.path(from, own_);
  SpscRing<Handed>& jobs = path.ring(TrafficClass::jobs);
  std::size_t count = jobs.pop_burst(into.first(into.size() / 2));
  count += path.ring(TrafficClass::others).pop_burst(into.subspan(count));
  if (count < into.size()) count += jobs.pop_burst(into.subspan(count));
  return into.first(count);
}
std::span<Learned> HandoverEnd::take(std::size_t from, std::span<Learned> into) {
  return into.first(handover_.path(from, own_).addresses.pop_burst(into));
}

}  // namespace tributary::dataplane
