#include "dataplane/multicast/group_keeper.h"

#include <algorithm>
#include <bit>

namespace tributary::dataplane {

GroupKeeper::GroupKeeper(std::uint32_t groups, std::uint64_t seed, GroupRings* ways)
    : queriers_(kVlanIds),
      heard_(kVlanIds),
      routers_(kVlanIds * config::kMaxPorts),
      asked_until_(kVlanIds * 2 * config::kMaxPorts),
      table_(groups, seed),
      ways_(ways) {
  if (ways == nullptr) return;
  table_.tell(&news_.emplace(groups + kVlanIds));
  told_.resize(kVlanIds);
}

PortMask GroupKeeper::still(PortMask ports, const Instant* until, Instant now) {
  PortMask out = 0;
  for (PortMask left = ports; left != 0; left &= left - 1)
    if (const auto port = static_cast<std::uint16_t>(std::countr_zero(left)); now < until[port])
      out |= mask_of(port);
  return out;
}

PortMask GroupKeeper::routers(std::uint16_t vlan, Instant now) const {
  return still(heard_[vlan].routers, &routers_[first_router(vlan)], now);
}

PortMask GroupKeeper::queried_through(std::uint16_t vlan, bool ipv6, Instant now) const {
  if (!has_querier(vlan, ipv6, now)) return 0;
  return still(heard_[vlan].queriers[ipv6 ? 1 : 0], &asked_until_[first_asked(vlan, ipv6)], now);
}

Duration GroupKeeper::routers_left(std::uint16_t vlan, Instant now) const {
  Duration left;
  for (PortMask rest = heard_[vlan].routers; rest != 0; rest &= rest - 1)
    left = std::max(left, routers_[first_router(vlan) + std::countr_zero(rest)] - now);
  return left;
}

void GroupKeeper::on_query(std::uint16_t port, std::uint16_t vlan, bool ipv6, bool from_router,
                           Instant now, Instant until) {
  queriers_[vlan].until[ipv6 ? 1 : 0] = until;
  asked_until_[first_asked(vlan, ipv6) + port] = until;
  heard_[vlan].queriers[ipv6 ? 1 : 0] |= mask_of(port);
  if (from_router) {
    routers_[first_router(vlan) + port] = until;
    heard_[vlan].routers |= mask_of(port);
  }
  if (news_) look_at(vlan, now);
}

void GroupKeeper::forget(std::uint16_t port) {
  for (std::uint16_t vlan = 0; vlan < kVlanIds; ++vlan) {
    heard_[vlan].routers &= ~mask_of(port);
    for (PortMask& queriers : heard_[vlan].queriers) queriers &= ~mask_of(port);
    if (!news_ || (told_[vlan].routers & mask_of(port)) == 0) continue;
    told_[vlan].routers &= ~mask_of(port);
    news_->note(place_of(vlan));
  }
  table_.forget(port);
}

void GroupKeeper::look_at(std::uint16_t vlan, Instant now) {
  Told is{routers(vlan, now), 0};
  for (const bool ipv6 : {false, true})
    if (has_querier(vlan, ipv6, now)) is.queriers |= querier_bit(ipv6);
  if (is == told_[vlan]) return;
  told_[vlan] = is;
  news_->note(place_of(vlan));
}

std::size_t GroupKeeper::expire(Instant now) {
  const std::size_t usual = news_ ? kLookForOthers : kLookPerTurn;
  const std::size_t gone = table_.expire(now, table_.forgetting() ? kLookToForget : usual);
  if (!news_) return gone;
  for (std::size_t n = 0; n < kLookForOthers; ++n) {
    look_at(next_vlan_, now);
    next_vlan_ = static_cast<std::uint16_t>((next_vlan_ + 1) % kVlanIds);
  }
  if (!news_->empty()) tell_others();
  return gone;
}

// Tells all lcores or, while one has no room, none: what waits is sent as it is then.
void GroupKeeper::tell_others() {
  const auto all = ways_->all();
  const auto has_room = [](const auto& way) { return way->has_room(); };
  for (int n = 0; n < kTellPerTurn && !news_->empty(); ++n) {
    if (!std::all_of(all.begin(), all.end(), has_room)) return;
    const std::uint32_t place = news_->take();
    GroupUpdate update{.key = 0, .place = place};
    if (place < table_.capacity()) {
      update.key = table_.at(place).key;
      update.ports = table_.at(place).ports;
    } else {
      const Told& vlan = told_[place - table_.capacity()];
      update.ports = vlan.routers;
      update.queriers = vlan.queriers;
    }
    for (const auto& way : all) way->tell(update);
  }
}

}  // namespace tributary::dataplane
