// Routers that lead to peers of this switch: the router on the way to each peer, and its present
// hardware address.
//
//   asking ──answer──▶ reachable ──kFresh──▶ checking ──answer──▶ reachable
//     ▲                                         └── kLife after the last answer ──▶ asking
//     └── link lost ────────────────────────────────────────────────────────────────┘
//
// Routers are asked by ARP before anything is to be sent, and again before an answer is too old:
// a while apart, and up to kSlowest while no answer comes. Only answers to questions are believed,
// through the router's own port. What a router says of its own accord makes the switch ask again.
//
// Invariant: what is on the way to an address follows from the configuration alone, so a peer is
// behind a router or not, whatever frames say.
//
// Bounded by the configuration, all memory taken at construction. Pure but for its counters'
// readers; one thread owns it: a packet loop, each of which has its own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/model/switch_config.h"
#include "core/counter.h"
#include "core/net/arp.h"
#include "core/time.h"

namespace tributary::dataplane {

struct NextHop {
  enum class State : std::uint8_t { asking, reachable, checking };

  std::uint32_t ipv4 = 0;
  std::uint16_t port = 0;
  std::optional<wire::MacAddress> mac;  // none: asking

  std::uint32_t unanswered = 0;  // questions since the last answer
  Duration pause;                // between the last question and the next
  Instant ask_at;
  std::optional<Instant> asked;                // last
  std::optional<Instant> answered;             // last
  std::array<std::optional<Instant>, 2> told;  // to other loops: claims, answers

  struct Counters {     // read by any thread
    Counter reachable;  // gauge: 1, or 0
    Counter asks;
    Counter answers;
    Counter unasked;  // claims of another address, or answers to no question
    Counter moves;    // to another address
    Counter losses;   // no answer for too long, or no link

    // Adds another loop's; of `reachable`, how many.
    void include(const Counters& other) {
      for (Counter Counters::*counter : {&Counters::reachable, &Counters::asks, &Counters::answers,
                                         &Counters::unasked, &Counters::moves, &Counters::losses})
        (this->*counter).add((other.*counter).get());
    }
  };
  Counters counters;

  [[nodiscard]] State state() const {
    if (!mac) return State::asking;
    return unanswered == 0 ? State::reachable : State::checking;
  }
};
const char* name_of(NextHop::State state);

class NextHops {
 public:
  static constexpr Duration kFresh = Duration::seconds(5);
  static constexpr Duration kLife = Duration::seconds(15);
  static constexpr Duration kAskAgain = Duration::ms(250);
  static constexpr Duration kSlowest = Duration::seconds(4);

  // A router's addresses as an ARP frame has them.
  struct Said {
    std::uint16_t port = 0;
    std::uint32_t ipv4 = 0;
    wire::MacAddress mac{};
    bool to_us = false;  // an answer to this switch
  };

  NextHops() = default;
  explicit NextHops(const config::SwitchConfig& config);

  // True: all peers are on the link.
  [[nodiscard]] bool empty() const { return hops_.empty(); }
  // The router on the way to an address; nullptr: it is on the link.
  [[nodiscard]] const NextHop* toward(std::uint32_t ipv4) const;

  // Takes over what `before` knows of routers that are where they were.
  void adopt(const NextHops& before);
  // Forgets the addresses of routers behind that port, which may have changed.
  void forget_behind(std::uint16_t port);
  // True: it is about a router here, and the other loops have not just been told of such a frame.
  bool intercept(const Said& said, Instant now);
  // Calls ask(hop) for each router that is to be asked now, and whose port has_link(port). Returns
  // how many. Cheap when it is not time for any.
  template <typename HasLink, typename Ask>
  std::size_t expire(Instant now, HasLink&& has_link, Ask&& ask) {
    if (now < next_look_) return 0;
    next_look_ = now + kLook;
    std::size_t asked = 0;
    for (NextHop& hop : hops_) {
      if (!has_link(hop.port)) {
        lose(hop);
      } else if (is_due(hop, now)) {
        ask(static_cast<const NextHop&>(hop));
        ++asked;
      }
    }
    return asked;
  }

  [[nodiscard]] const std::vector<NextHop>& hops() const { return hops_; }

 private:
  static constexpr Duration kLook = Duration::ms(10);
  static constexpr Duration kTellAgain = Duration::ms(50);

  struct Route {
    config::Ipv4Prefix to;
    std::optional<std::size_t> hop;
  };

  // Asks, as far as this object goes.
  static bool is_due(NextHop& hop, Instant now);
  static void lose(NextHop& hop);
  static void answer(NextHop& hop, const wire::MacAddress& mac, Instant now);

  wire::MacAddress own_{};
  std::vector<Route> routes_;  // the longest prefix first
  std::vector<NextHop> hops_;
  Instant next_look_;
};

}  // namespace tributary::dataplane
