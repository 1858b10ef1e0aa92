#include "dataplane/bridge/link_probe.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>

namespace tributary::dataplane {

bool LinkProbe::receive(std::uint16_t ingress, const wire::EthernetView& frame,
                        std::uint64_t arrived_tsc, Instant now) {
  if (!telemetry_.is_trusted(ingress) || !ports_[ingress].limit.take(now)) return false;
  const auto message = wire::parse_pdelay(frame.payload);
  if (!message) return false;
  return message->response ? measure(ingress, *message, arrived_tsc)
                           : answer(ingress, *message, arrived_tsc);
}

bool LinkProbe::answer(std::uint16_t port, const wire::PdelayMessage& request,
                       std::uint64_t arrived_tsc) {
  wire::PdelayMessage response;
  response.response = true;
  response.sequence = request.sequence;
  response.from = own(port);
  response.requester = request.from;
  response.correction_ns = static_cast<std::int64_t>(telemetry_.to_ns(rte_rdtsc() - arrived_tsc));
  if (!send(port, response)) return true;
  // Waiting for the end of the turn would count as the link's.
  transmitter_.flush();
  return true;
}

bool LinkProbe::measure(std::uint16_t port, const wire::PdelayMessage& response,
                        std::uint64_t arrived_tsc) {
  PortState& state = ports_[port];
  std::uint64_t& asked = state.asked[response.sequence % kInFlight];
  const auto ago = static_cast<std::uint16_t>(state.sequence - response.sequence);
  if (response.requester != own(port) || ago == 0 || ago > kInFlight || asked == 0) return false;
  const std::uint64_t trip = telemetry_.to_ns(arrived_tsc - asked);
  asked = 0;
  const auto share = static_cast<std::uint64_t>(response.correction_ns);
  const std::uint64_t one_way = trip > share ? (trip - share) / 2 : 0;
  state.samples[state.measured++ % kWindow] = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(one_way, std::uint64_t{telemetry::kUnknown32} - 1));
  state.unanswered = 0;
  const auto end =
      state.samples.begin() + static_cast<std::ptrdiff_t>(std::min(state.measured, kWindow));
  telemetry_.report_link(port, *std::min_element(state.samples.begin(), end));
  return true;
}

std::size_t LinkProbe::expire(Instant now) {
  const Duration every = telemetry_.probe_interval();
  if (every == Duration()) return 0;
  const std::uint16_t port = looked_at_;
  looked_at_ = static_cast<std::uint16_t>(port + 1U >= lanes_.size() ? 0U : port + 1U);
  PortState& state = ports_[port];
  if ((mine_ & mask_of(port)) == 0 || now < state.ask_at || !telemetry_.is_trusted(port)) return 0;
  state.ask_at = now + every;
  if (!lanes_[port]->port->link().up()) {
    report_silence(port);
    return 0;
  }
  ask(port);
  return 1;
}

void LinkProbe::ask(std::uint16_t port) {
  PortState& state = ports_[port];
  if (state.asked[static_cast<std::uint16_t>(state.sequence - 1) % kInFlight] != 0 &&
      ++state.unanswered >= kSilent)
    report_silence(port);
  std::uint64_t& asked = state.asked[state.sequence % kInFlight];
  if (asked != 0) telemetry_.count_lost_probe();
  wire::PdelayMessage request;
  request.sequence = state.sequence++;
  request.from = own(port);
  asked = rte_rdtsc();
  send(port, request);
}

void LinkProbe::report_silence(std::uint16_t port) {
  ports_[port].measured = 0;
  telemetry_.report_link(port, telemetry::kUnknown32);
}

bool LinkProbe::send(std::uint16_t port, const wire::PdelayMessage& message) {
  rte_mbuf* const frame = rte_pktmbuf_alloc(pool_);
  if (frame == nullptr) {
    lanes_[port]->counters.drops.add(DropReason::no_mbuf);
    return false;
  }
  const std::span room(rte_pktmbuf_mtod(frame, std::byte*), rte_pktmbuf_tailroom(frame));
  rte_pktmbuf_append(frame, static_cast<std::uint16_t>(wire::write_pdelay(message, room)));
  transmitter_.send(port, frame);
  return true;
}

}  // namespace tributary::dataplane
