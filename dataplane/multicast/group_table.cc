#include "dataplane/multicast/group_table.h"

#include <algorithm>
#include <bit>

namespace tributary::dataplane {

GroupTable::GroupTable(std::uint32_t capacity, std::uint64_t seed) : entries_(capacity, seed) {}

PortMask GroupTable::of_now(const Entry& entry) const {
  PortMask out = 0;
  for (PortMask left = entry.ports; left != 0; left &= left - 1) {
    const auto port = static_cast<std::uint16_t>(std::countr_zero(left));
    if (has(entry, port)) out |= mask_of(port);
  }
  return out;
}

PortMask GroupTable::wanted(const Entry& entry, Instant now) const {
  PortMask out = 0;
  for (PortMask left = entry.ports; left != 0; left &= left - 1) {
    const auto port = static_cast<std::uint16_t>(std::countr_zero(left));
    if (now < entry.until[port] && has(entry, port)) out |= mask_of(port);
  }
  return out;
}

void GroupTable::charge(std::uint32_t index, std::uint16_t port) {
  Entry& entry = entries_[index];
  Charges& list = charges_[port];
  entry.charged = port;
  list.groups.append(entries_, index);
  ++list.count;
}

void GroupTable::discharge(std::uint32_t index) {
  const Entry& entry = entries_[index];
  Charges& list = charges_[entry.charged];
  list.groups.remove(entries_, index);
  --list.count;
}

void GroupTable::charge_another(std::uint32_t index) {
  const Entry& entry = entries_[index];
  const PortMask others = entry.ports & ~mask_of(entry.charged);
  auto longest = static_cast<std::uint16_t>(std::countr_zero(others));
  for (PortMask rest = others; rest != 0; rest &= rest - 1)
    if (const auto port = static_cast<std::uint16_t>(std::countr_zero(rest));
        entry.until[port] > entry.until[longest])
      longest = port;
  discharge(index);
  charge(index, longest);
}

// Looks at each port's oldest group: groups that it has asked for again are behind that.
bool GroupTable::clear_one() {
  for (std::uint16_t port = 0; port < kPorts; ++port) {
    const std::uint32_t index = charges_[port].groups.oldest();
    if (index != kNone && !has(entries_[index], port) && keep_only(index, of_now(entries_[index])))
      return true;
  }
  return false;
}

bool GroupTable::make_room_for(std::uint16_t port) {
  if (forgetting() && clear_one()) return true;
  for (int look = 0; look < kEvictionLooks; ++look) {
    const auto most = static_cast<std::uint16_t>(
        std::max_element(charges_.begin(), charges_.end(),
                         [](const Charges& a, const Charges& b) { return a.count < b.count; }) -
        charges_.begin());
    if (charges_[most].count <= charges_[port].count) return false;
    const std::uint32_t index = charges_[most].groups.oldest();
    if ((entries_[index].ports & ~mask_of(most)) != 0) {
      charge_another(index);
      continue;
    }
    remove(index);
    counters_.evicted.add();
    return true;
  }
  return false;
}

void GroupTable::join(const wire::MacAddress& group, std::uint16_t vlan, std::uint16_t port,
                      Instant until) {
  const std::uint64_t key = mac_key(group, vlan);
  std::uint32_t index = entries_.find(key);
  if (index == kNone) {
    if (entries_.full() && !make_room_for(port)) return counters_.refused.add();
    index = entries_.add(key);
    counters_.groups.add();
    charge(index, port);
  } else if (entries_[index].charged == port) {
    discharge(index);
    charge(index, port);
  }
  Entry& entry = entries_[index];
  entry.until[port] = until;
  if (has(entry, port)) return;
  entry.epoch[port] = epochs_[port];
  counters_.joined.add();
  entry.ports |= mask_of(port);
  note(index);
}

void GroupTable::leave(const wire::MacAddress& group, std::uint16_t vlan, std::uint16_t port,
                       Instant when) {
  const std::uint32_t index = entries_.find(mac_key(group, vlan));
  if (index == kNone || !has(entries_[index], port)) return;
  Instant& until = entries_[index].until[port];
  until = std::min(until, when);
  counters_.left.add();
}

void GroupTable::forget(std::uint16_t port) {
  constexpr std::uint8_t kLast = 0xFF;
  if (epochs_[port] == kLast && forgetting())  // nothing may be left of the epoch that comes again
    for (std::uint32_t index = 0; index < capacity(); ++index)
      if (const PortMask left = of_now(entries_[index]); left != entries_[index].ports)
        keep_only(index, left);
  ++epochs_[port];
  unclean_ = capacity();
}

std::optional<PortMask> GroupTable::lookup(const wire::MacAddress& group, std::uint16_t vlan,
                                           Instant now) const {
  const std::uint32_t index = entries_.find(mac_key(group, vlan));
  if (index == kNone) return std::nullopt;
  const PortMask ports = wanted(entries_[index], now);
  return ports != 0 ? std::optional(ports) : std::nullopt;
}

void GroupTable::remove(std::uint32_t index) {
  discharge(index);
  entries_[index].ports = 0;
  entries_.remove(index);
  note(index);
  counters_.groups.set(counters_.groups.get() - 1);
}

bool GroupTable::keep_only(std::uint32_t index, PortMask ports) {
  Entry& entry = entries_[index];
  if (ports == 0) {
    remove(index);
    counters_.aged.add();
    return true;
  }
  entry.ports = ports;
  note(index);
  if ((ports & mask_of(entry.charged)) == 0) charge_another(index);
  return false;
}

std::size_t GroupTable::expire(Instant now, std::size_t look_at) {
  std::size_t gone = 0;
  const auto looks = static_cast<std::uint32_t>(std::min<std::size_t>(look_at, capacity()));
  unclean_ -= std::min(unclean_, looks);
  for (std::uint32_t n = 0; n < looks; ++n) {
    const std::uint32_t index = cursor_;
    cursor_ = (cursor_ + 1) & (capacity() - 1);
    const Entry& entry = entries_[index];
    if (entry.ports == 0) continue;
    const PortMask left = wanted(entry, now);
    if (left != entry.ports && keep_only(index, left)) ++gone;
  }
  return gone;
}

void GroupTable::rows(std::uint32_t& place, std::uint32_t looks, Instant now,
                      std::vector<GroupRow>& into) const {
  const std::uint32_t end = place + std::min(looks, capacity() - place);
  for (; place != end; ++place) {
    const Entry& entry = entries_[place];
    const PortMask ports = wanted(entry, now);
    if (ports == 0) continue;
    Duration left;
    for (PortMask rest = ports; rest != 0; rest &= rest - 1)
      left = std::max(left, entry.until[static_cast<std::size_t>(std::countr_zero(rest))] - now);
    into.push_back({mac_of_key(entry.key), vlan_of_key(entry.key), ports, left});
  }
}

}  // namespace tributary::dataplane
