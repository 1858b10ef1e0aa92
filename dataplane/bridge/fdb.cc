#include "dataplane/bridge/fdb.h"

#include <algorithm>

#include "config/model/switch_config.h"

namespace tributary::dataplane {

Fdb::Fdb(std::uint32_t capacity, Duration ageing, std::size_t ports, std::uint64_t seed)
    : ageing_(ageing), entries_(capacity, seed), lists_(ports) {
  lists_.reserve(config::kMaxPorts);
}

void Fdb::use_ports(std::size_t ports) {
  if (ports > lists_.size()) lists_.resize(ports);
}

void Fdb::Statics::add(const wire::MacAddress& mac, std::uint16_t port) {
  ports[mac_bits(mac)] = port;
  unclean.push_back(mac_bits(mac));
}

void Fdb::swap_statics(Statics& statics) {
  std::swap(statics_, statics);
  unclean_vlan_ = 0;
}

// Nothing is learned of them any more.
std::size_t Fdb::clean_statics() {
  constexpr int kLooks = 64;
  std::size_t gone = 0;
  for (int look = 0; look < kLooks && !statics_.unclean.empty(); ++look) {
    const wire::MacAddress mac = mac_of_key(statics_.unclean.back());
    if (const std::uint32_t index = entries_.find(mac_key(mac, unclean_vlan_)); index != kNone) {
      remove(index);
      ++gone;
    }
    if (++unclean_vlan_ < kVlans) continue;
    unclean_vlan_ = 0;
    statics_.unclean.pop_back();
  }
  return gone;
}

void Fdb::unlink(std::uint32_t index) {
  const Entry& entry = entries_[index];
  PortList& list = lists_[entry.port];
  list.entries.remove(entries_, index);
  --list.count;
}

void Fdb::append(std::uint32_t index, std::uint16_t port) {
  Entry& entry = entries_[index];
  PortList& list = lists_[port];
  entry.port = port;
  list.entries.append(entries_, index);
  ++list.count;
}

void Fdb::remove(std::uint32_t index) {
  unlink(index);
  entries_.remove(index);
  entries_[index].port = kNoPort;
  counters_.entries.set(counters_.entries.get() - 1);
}

void Fdb::evict_for(std::uint16_t port) {
  std::size_t victim = port;
  for (std::size_t p = 0; p < lists_.size(); ++p)
    if (lists_[p].count > lists_[victim].count) victim = p;
  remove(lists_[victim].entries.oldest());
  counters_.evicted.add();
}

void Fdb::note_move(Entry& entry, Instant now) {
  counters_.moved.add();
  if (entry.moves == 0 || now - entry.moving_since >= kFlapWindow) {
    entry.moves = 0;
    entry.moving_since = now;
  }
  if (++entry.moves < kFlapMoves) return;
  counters_.last_flapping.set(entry.key);
  counters_.flapping.add();
  entry.moves = 0;  // another time, if it goes on
}

bool Fdb::learn(const wire::MacAddress& mac, std::uint16_t vlan, std::uint16_t port, Instant now) {
  if (!statics_.ports.empty() && statics_.ports.contains(mac_bits(mac))) return false;
  const std::uint64_t key = mac_key(mac, vlan);
  std::uint32_t index = entries_.find(key);
  const bool new_here = index == kNone || entries_[index].port != port;
  if (new_here && lists_[port].full()) {
    counters_.limited.add();
    return false;
  }
  if (index != kNone) {
    if (new_here) note_move(entries_[index], now);
    unlink(index);
  } else {
    if (entries_.full()) evict_for(port);
    index = entries_.add(key);
    entries_[index].moves = 0;
    counters_.learned.add();
    counters_.entries.add();
  }
  entries_[index].seen = now;
  append(index, port);
  return true;
}

std::uint16_t Fdb::static_port_of(std::uint64_t key) const {
  const auto it = statics_.ports.find(mac_bits(mac_of_key(key)));
  return it == statics_.ports.end() ? kNoPort : it->second;
}

std::size_t Fdb::expire(Instant now, std::size_t most) {
  std::size_t gone = statics_.unclean.empty() ? 0 : clean_statics();
  for (auto& list : lists_)
    while (gone < most && !list.entries.empty() &&
           now - entries_[list.entries.oldest()].seen >= ageing_) {
      remove(list.entries.oldest());
      counters_.aged.add();
      ++gone;
    }
  return gone;
}

std::size_t Fdb::forget(std::uint16_t port, Instant since, std::size_t most) {
  const PortList& list = lists_[port];
  std::size_t gone = 0;
  while (gone < most && !list.entries.empty() && entries_[list.entries.oldest()].seen < since) {
    remove(list.entries.oldest());
    counters_.forgotten.add();
    ++gone;
  }
  return gone;
}

std::vector<FdbRow> Fdb::rows(Instant now) const {
  std::vector<FdbRow> out;
  for (const auto& [mac, port] : statics_.ports)
    out.push_back({mac_of_key(mac), 0, port, true, {}});
  std::uint32_t place = 0;
  learned_rows(place, capacity(), {}, now, out);
  return out;
}

void Fdb::learned_rows(std::uint32_t& place, std::uint32_t looks, const FdbFilter& filter,
                       Instant now, std::vector<FdbRow>& into) const {
  const std::uint32_t end = place + std::min(looks, capacity() - place);
  for (; place != end; ++place) {
    const Entry& entry = entries_[place];
    if (entry.port == kNoPort || (filter.port && *filter.port != entry.port)) continue;
    const std::uint16_t vlan = vlan_of_key(entry.key);
    if (filter.vlan && *filter.vlan != vlan) continue;
    into.push_back({mac_of_key(entry.key), vlan, entry.port, false, now - entry.seen});
  }
}

}  // namespace tributary::dataplane
