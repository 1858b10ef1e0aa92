#include "dataplane/udp/next_hops.h"

#include <algorithm>

namespace tributary::dataplane {
namespace {

std::uint16_t place_of(const config::SwitchConfig& config, const std::string& name) {
  const auto port = std::find_if(config.ports.begin(), config.ports.end(),
                                 [&](const config::PortConfig& p) { return p.name == name; });
  return static_cast<std::uint16_t>(port - config.ports.begin());
}

}  // namespace

const char* name_of(NextHop::State state) {
  switch (state) {
    case NextHop::State::asking: return "asking";
    case NextHop::State::reachable: return "reachable";
    case NextHop::State::checking: return "checking";
  }
  return "?";
}

NextHops::NextHops(const config::SwitchConfig& config)
    : own_(config.mac.value_or(config::derived_mac(config.ipv4))) {
  for (const config::RouteConfig& route : config.routes) {
    Route& added = routes_.emplace_back(Route{route.to, std::nullopt});
    if (!route.via) continue;
    const auto known = std::find_if(hops_.begin(), hops_.end(),
                                    [&](const NextHop& hop) { return hop.ipv4 == *route.via; });
    added.hop = static_cast<std::size_t>(known - hops_.begin());
    if (known != hops_.end()) continue;
    NextHop& hop = hops_.emplace_back();
    hop.ipv4 = *route.via;
    hop.port = place_of(config, route.port);
  }
  std::stable_sort(routes_.begin(), routes_.end(),
                   [](const Route& a, const Route& b) { return a.to.bits > b.to.bits; });
}

const NextHop* NextHops::toward(std::uint32_t ipv4) const {
  for (const Route& route : routes_)
    if (route.to.contains(ipv4)) return route.hop ? &hops_[*route.hop] : nullptr;
  return nullptr;
}

void NextHops::adopt(const NextHops& before) {
  for (NextHop& hop : hops_) {
    const auto same = std::find_if(
        before.hops_.begin(), before.hops_.end(),
        [&](const NextHop& other) { return other.ipv4 == hop.ipv4 && other.port == hop.port; });
    if (same != before.hops_.end()) hop = *same;
  }
}

void NextHops::forget_behind(std::uint16_t port) {
  for (NextHop& hop : hops_)
    if (hop.port == port) lose(hop);
}

bool NextHops::intercept(const Said& said, Instant now) {
  const auto found = std::find_if(hops_.begin(), hops_.end(), [&](const NextHop& hop) {
    return hop.ipv4 == said.ipv4 && hop.port == said.port;
  });
  if (found == hops_.end() || said.mac == own_) return false;
  NextHop& hop = *found;
  if (said.to_us && hop.unanswered != 0) {
    answer(hop, said.mac, now);
  } else if (said.mac != hop.mac) {
    // At once, but no more often than a router is asked that does not answer.
    hop.counters.unasked.add();
    hop.ask_at = hop.asked ? std::min(hop.ask_at, *hop.asked + kAskAgain) : Instant();
    next_look_ = Instant();
  }
  std::optional<Instant>& told = hop.told[said.to_us ? 1 : 0];
  if (told && now - *told < kTellAgain) return false;
  told = now;
  return true;
}

void NextHops::answer(NextHop& hop, const wire::MacAddress& mac, Instant now) {
  if (hop.mac && *hop.mac != mac) hop.counters.moves.add();
  hop.mac = mac;
  hop.answered = now;
  hop.unanswered = 0;
  hop.pause = {};
  hop.ask_at = now + kFresh;
  hop.counters.answers.add();
  hop.counters.reachable.set(1);
}

bool NextHops::is_due(NextHop& hop, Instant now) {
  if (hop.mac && now - *hop.answered >= kLife) lose(hop);
  if (now < hop.ask_at) return false;
  hop.pause = hop.pause == Duration() ? kAskAgain : std::min(hop.pause * 2, kSlowest);
  hop.ask_at = now + hop.pause;
  hop.asked = now;
  ++hop.unanswered;
  hop.counters.asks.add();
  return true;
}

// Asked at once, or as soon as there is a link; what was asked before needs no answer.
void NextHops::lose(NextHop& hop) {
  hop.unanswered = 0;
  hop.pause = {};
  hop.ask_at = {};
  if (!hop.mac) return;
  hop.mac.reset();
  hop.counters.losses.add();
  hop.counters.reachable.set(0);
}

}  // namespace tributary::dataplane
