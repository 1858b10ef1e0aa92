#include "dataplane/multicast/group_rings.h"

#include <rte_mbuf.h>

#include "dataplane/host/socket_memory.h"

namespace tributary::dataplane {

GroupRing::~GroupRing() {
  GroupFrame message;
  while (messages_.pop(message)) rte_pktmbuf_free(message.frame);
}

bool GroupRing::give(const GroupFrame& message) {
  for (const std::uint64_t taken = messages_taken_.get(); seen_taken_ != taken; ++seen_taken_)
    --on_the_way_[port_of_[seen_taken_ % kMessages]];
  const std::uint64_t given = counters_.messages.get();
  const std::uint64_t room = kMessages - (given - seen_taken_);
  if (on_the_way_[message.port] >= room || !messages_.push(GroupFrame(message))) {
    counters_.messages_full.add();
    return false;
  }
  port_of_[given % kMessages] = message.port;
  ++on_the_way_[message.port];
  counters_.messages.add();
  return true;
}

std::span<GroupFrame> GroupRing::take(std::span<GroupFrame> into) {
  const std::size_t count = messages_.pop_burst(into);
  messages_taken_.add(count);
  return into.first(count);
}

void GroupRing::tell(const GroupUpdate& update) {
  updates_.push(GroupUpdate(update));
  counters_.updates.add();
}

std::span<GroupUpdate> GroupRing::take(std::span<GroupUpdate> into) {
  const std::size_t count = updates_.pop_burst(into);
  const std::uint64_t before = updates_taken_.load(std::memory_order_relaxed);
  updates_taken_.store(before + count, std::memory_order_release);
  return into.first(count);
}

GroupRings::GroupRings(std::size_t lcores, std::span<const int> sockets) {
  for (std::size_t lcore = 1; lcore < lcores; ++lcore) {
    const SocketMemory memory(lcore < sockets.size() ? sockets[lcore] : config::kAnySocket);
    ways_.push_back(std::make_unique<GroupRing>());
  }
}

}  // namespace tributary::dataplane
