// Measures the links to other switches of the telemetry domain, by probes that go there and back
// (core/net/pdelay.h), whether data flows there or not.
//
// A link's latency is half of what a round trip took beyond the other switch's own share, the least
// of the latest kWindow: what a probe had to wait for a poll is no property of the link. Each lcore
// has one, for the ports whose first queue it polls; it answers on any trusted port. Only frames
// from trusted ports count, and at most kPerSecond of a port.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/net/frame.h"
#include "core/net/pdelay.h"
#include "core/time.h"
#include "dataplane/frame/local_host.h"
#include "dataplane/frame/token_bucket.h"
#include "dataplane/frame/vlan.h"
#include "dataplane/io/lane.h"
#include "dataplane/io/transmitter.h"
#include "dataplane/telemetry/loop_telemetry.h"

namespace tributary::dataplane {

class LinkProbe {
 public:
  static constexpr std::size_t kWindow = 4;
  // Requests whose answers may still come; a link with a longer round trip is not measured.
  static constexpr std::size_t kInFlight = 16;
  // So many without an answer in a row: the latency is unknown.
  static constexpr unsigned kSilent = 8;
  static constexpr std::uint32_t kPerSecond = 1000;

  // `identity` may change, and is read when something is sent.
  LinkProbe(const Identity& identity, Lanes& lanes, Transmitter& transmitter, rte_mempool* pool,
            LoopTelemetry& telemetry)
      : identity_(identity),
        lanes_(lanes),
        transmitter_(transmitter),
        pool_(pool),
        telemetry_(telemetry),
        ports_(config::kMaxPorts) {}

  // False: the frame is of no use.
  bool receive(std::uint16_t ingress, const wire::EthernetView& frame, std::uint64_t arrived_tsc,
               Instant now);
  // Sends a probe if one is due. Looks at one port a call; returns how many it sent.
  std::size_t expire(Instant now);
  // The ports whose first queue is polled here.
  void speak_on(PortMask ports) { mine_ = ports; }

 private:
  struct PortState {
    Instant ask_at;
    std::uint16_t sequence = 0;                    // of the next request
    std::array<std::uint64_t, kInFlight> asked{};  // TSC, by sequence; 0: answered, or never
    std::array<std::uint32_t, kWindow> samples{};  // ns
    std::size_t measured = 0;                      // since the link was last unknown
    unsigned unanswered = 0;                       // in a row
    TokenBucket limit{kPerSecond, kPerSecond};
  };

  bool answer(std::uint16_t port, const wire::PdelayMessage& request, std::uint64_t arrived_tsc);
  bool measure(std::uint16_t port, const wire::PdelayMessage& response, std::uint64_t arrived_tsc);
  void ask(std::uint16_t port);
  // The link does not answer, or has no carrier.
  void report_silence(std::uint16_t port);
  bool send(std::uint16_t port, const wire::PdelayMessage& message);
  [[nodiscard]] wire::PortIdentity own(std::uint16_t port) const { return {identity_.mac, port}; }

  const Identity& identity_;
  Lanes& lanes_;
  Transmitter& transmitter_;
  rte_mempool* pool_;
  LoopTelemetry& telemetry_;
  std::vector<PortState> ports_;
  PortMask mine_ = 0;
  std::uint16_t looked_at_ = 0;
};

}  // namespace tributary::dataplane
