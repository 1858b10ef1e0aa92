// In-band telemetry of the loop: at receive here, in the middle where jobs' packets are made
// (dataplane/aggregation), and at transmit (dataplane/io/transmitter.h).
#include <utility>

#include "dataplane/loop/packet_loop.h"
#include "dataplane/memif/lent_frame.h"

namespace tributary::dataplane {

void PacketLoop::start_telemetry(const config::SwitchConfig& config) {
  telemetry_ = std::make_unique<LoopTelemetry>(config, pool_);
  transmitter_.stamp_with(telemetry_.get());
  aggregation_.sample_with(telemetry_.get());
  forwarder_.watch_with(telemetry_.get());
  link_probe_ = std::make_unique<LinkProbe>(identity_, lanes_, transmitter_, pool_, *telemetry_);
  link_probe_->speak_on(spoken_for());
}

void PacketLoop::take_probe(std::uint16_t port, rte_mbuf* frame, const Classified& what,
                            Instant now) {
  tell(port, frame, {.action = Action::probe});
  if (!link_probe_ || !link_probe_->receive(port, what.ethernet, burst_arrived_, now))
    return drop(*lanes_[port], frame, what.reason);
  rte_pktmbuf_free(frame);
}

std::size_t PacketLoop::take_telemetry(std::uint16_t port, std::size_t received) {
  const std::span burst = std::span(burst_).first(received);
  // Metadata is taken out of whole frames, and frames may change their places.
  if (any_lent_ && telemetry_->any_marked(burst))
    for (std::size_t i = 0; i < received; ++i)
      if (in_place_[i] != nullptr) fetch_rest(*burst[i], std::exchange(in_place_[i], nullptr));
  const std::size_t kept = telemetry_->take_in(identity_, port, burst, burst_arrived_);
  for (rte_mbuf* const frame : burst.subspan(kept))
    drop(*lanes_[port], frame, DropReason::telemetry_untrusted);
  return kept;
}

}  // namespace tributary::dataplane
