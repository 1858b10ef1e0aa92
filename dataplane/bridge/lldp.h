// LLDP (IEEE 802.1AB): tells neighbours which switch and port they are connected to, and remembers
// what they tell. Each lcore has one, for the ports whose first queue it polls.
//
// Strangers fill no more than kMostNeighbours rows a port, and make no more work than kPerSecond
// messages a second.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/model/switch_config.h"
#include "core/counter.h"
#include "core/net/lldp.h"
#include "core/time.h"
#include "dataplane/frame/local_host.h"
#include "dataplane/frame/token_bucket.h"
#include "dataplane/io/lane.h"
#include "dataplane/io/transmitter.h"

namespace tributary::dataplane {

// A neighbour, as `show` prints it.
struct LldpRow {
  std::uint16_t port = 0;
  wire::MacAddress mac{};
  wire::LldpMessage said;
  Duration age;   // since it was heard
  Duration left;  // until it is forgotten
};

class Lldp {
 public:
  static constexpr std::size_t kMostNeighbours = 8;
  static constexpr std::uint32_t kPerSecond = 10;
  static constexpr std::uint32_t kSavedUp = 32;

  // `identity` may change, and is read when something is sent. `ports`: where to speak.
  Lldp(const config::SwitchConfig& config, const Identity& identity, Lanes& lanes,
       Transmitter& transmitter, rte_mempool* pool, std::span<const std::uint16_t> ports);

  // Known neighbours stay known.
  void set_rules(const config::LldpConfig& rules, Instant now);
  // none: the message was accepted. Otherwise the reason why not.
  DropReason receive(std::uint16_t ingress, const wire::EthernetView& frame, Instant now);
  // Sends where a message is due; forgets neighbours that were silent for too long, or whose link
  // went down. Looks at one port a call; returns how much there was to do.
  std::size_t expire(Instant now);
  // Makes expire() forget the neighbours behind the port.
  void forget_behind(std::uint16_t port) {
    ports_[port].losses = lanes_[port]->port->link().losses() - 1;
  }
  // Tells neighbours to forget this switch at once, instead of after its TTL.
  void say_goodbye();
  void say_goodbye(std::uint16_t port);
  // Other queues are polled here: where to speak from now on.
  void speak_on(std::uint32_t ports);

  [[nodiscard]] std::vector<LldpRow> rows(Instant now) const;

  // Read by any thread.
  struct Counters {
    Counter neighbours;  // now
    Counter sent;
    Counter received;  // and understood
    Counter aged;
    Counter left;     // said so
    Counter refused;  // too many, or too often
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct Neighbour {
    wire::MacAddress mac{};
    wire::LldpMessage said;
    Instant heard;
    Instant until;
  };
  struct PortState {
    std::vector<Neighbour> known;
    TokenBucket limit{kPerSecond, kSavedUp};
    std::uint32_t losses = 0;  // of the link, that have been acted upon
    bool speaks = false;
    Instant speak_at;
  };

  void send(std::uint16_t port, std::uint16_t ttl_seconds);
  DropReason remember(PortState& port, const Neighbour& neighbour, Instant now);
  void count(std::int64_t more);
  std::size_t forget(PortState& port, std::uint32_t losses, Instant now);

  config::LldpConfig config_;
  std::string name_;
  const Identity& identity_;
  Lanes& lanes_;
  Transmitter& transmitter_;
  rte_mempool* pool_;
  std::vector<PortState> ports_;
  std::uint16_t looked_at_ = 0;
  Counters counters_;
};

}  // namespace tributary::dataplane
