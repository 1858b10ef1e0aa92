// L2 forwarding of what is not the switch's own: learn the source, look up the destination,
// flood what is unknown.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "core/wire/frame.h"
#include "dataplane/fdb.h"
#include "dataplane/lane.h"
#include "dataplane/transmitter.h"

namespace tributary::dataplane {

class Forwarder {
 public:
  Forwarder(const config::SwitchConfig& config, std::uint64_t seed, Lanes& lanes,
            Transmitter& transmitter);

  // For every frame with a valid source, whatever becomes of it.
  void learn(std::uint16_t ingress, const wire::EthernetView& frame, Instant now);
  // Takes ownership of the frame.
  void forward(std::uint16_t ingress, rte_mbuf* frame, const wire::EthernetView& view, Instant now);
  std::size_t expire(Instant now) { return fdb_.expire(now, kExpirePerTurn); }

  [[nodiscard]] const Fdb& fdb() const { return fdb_; }

 private:
  static constexpr std::size_t kExpirePerTurn = 16;

  Lanes& lanes_;
  Transmitter& transmitter_;
  Duration refresh_;  // how often a steady source is learned again
  Fdb fdb_;
};

}  // namespace tributary::dataplane
