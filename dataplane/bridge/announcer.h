// Gratuitous ARP: announces the switch's address as soon as a link is up, so that hosts no longer
// send to the switch that had the address before (RFC 5227, section 2.3: twice, two seconds apart).
//
//   link up ──▶ say it ──2 s──▶ say it again ──▶ silent until the link has been down, or the port
//               another
//   claimed by another host ──▶ say it, at most once in ten seconds
//
// Untagged, from the port's first lcore. Called on every turn: looks at one port a call.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/time.h"
#include "dataplane/frame/local_host.h"
#include "dataplane/io/lane.h"
#include "dataplane/io/transmitter.h"

struct rte_mempool;

namespace tributary::dataplane {

class Announcer {
 public:
  Announcer(const Identity& identity, Lanes& lanes, Transmitter& transmitter, rte_mempool* pool)
      : identity_(identity), lanes_(lanes), transmitter_(transmitter), pool_(pool) {}

  // The ports, by places, for which this lcore speaks from now on.
  void speak_on(std::uint32_t ports) { speaks_ = ports; }
  // Another host claims the address there: announces again, at most once in ten seconds (RFC 5227,
  // section 2.4 (b)). Does nothing for a port that another lcore speaks for.
  void defend(std::uint16_t place, Instant now);
  // Says what is due; returns how much.
  std::size_t expire(Instant now);

 private:
  static constexpr Duration kDefendInterval = Duration::seconds(10);
  static constexpr Duration kAgain = Duration::seconds(2);
  struct State {
    const Port* port = nullptr;  // that the place had at the last look
    std::uint32_t losses = 0;
    std::uint8_t left = 0;  // announcements to come
    Instant at;
    std::optional<Instant> defended;
  };
  void look(std::uint16_t place, State& state);
  void announce(std::uint16_t place);

  const Identity& identity_;
  Lanes& lanes_;
  Transmitter& transmitter_;
  rte_mempool* pool_;
  std::uint32_t speaks_ = 0;
  std::uint16_t looked_at_ = 0;
  std::array<State, config::kMaxPorts> states_{};
};

}  // namespace tributary::dataplane
