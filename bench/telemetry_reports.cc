#include "bench/telemetry_reports.h"

#include <stdexcept>

#include "telemetry/wire/int_md.h"
#include "telemetry/wire/report.h"
#include "tests/telemetry/wire/frames.h"

namespace tributary::bench {
namespace {

using namespace telemetry;
using test::Bytes;

constexpr std::size_t kMostBytes = 1400;
constexpr std::uint16_t kAsked = kNodeId | kPorts | kHopLatency | kQueue | kUtilisation;
constexpr std::uint32_t kNodes = 64;
constexpr std::uint16_t kPortsOfANode = 16;
constexpr std::size_t kIp = 14;
constexpr std::size_t kSource = kIp + 12;

// The flow decides over the way, as in a network.
Hop hop_of(std::uint32_t node, std::uint32_t flow, std::uint32_t number) {
  Hop hop;
  hop.node = node;
  hop.ingress_port = 0;
  hop.egress_port = static_cast<std::uint16_t>(flow % kPortsOfANode);
  hop.latency_ns = 2000 + number * 7919 % 50'000;
  hop.queue_occupancy = number % 64;
  hop.utilisation_ppm = number * 31 % 1'000'000;
  hop.ingress_ns = std::uint64_t{number} * 1000;
  return hop;
}

// The headers of a packet that one hop has stamped, without the payload.
Bytes packet_of(std::uint32_t flow, std::uint32_t number) {
  Bytes frame = test::make_frame({.payload = 32, .checksum = false});
  store(frame, kSource, 0x0A010000u + flow);
  store(frame, kIp + 10, std::uint16_t{0});
  store(frame, kIp + 10,
        static_cast<std::uint16_t>(~test::sum_of(std::span(frame).subspan(kIp, 20))));
  test::Buffer buffer(frame);
  if (insert_int(buffer.view, {}, kAsked, 8, hop_of(1 + flow % kNodes, flow, number)) !=
      Outcome::done)
    throw std::logic_error("no packet to report");
  Bytes stamped = buffer.now();
  stamped.resize(stamped.size() - 32);
  stamped.erase(stamped.begin(), stamped.begin() + kIp);
  return stamped;
}

// Each round has all flows, in another order: packets of a network do not come sorted. Steps that
// end in 3 share no factor with a power of ten.
std::uint32_t flow_of(std::uint32_t number, std::uint32_t flows) {
  const std::uint64_t step = 40'503 + std::uint64_t{20} * (number / flows);
  return static_cast<std::uint32_t>(number % flows * step % flows);
}

std::size_t fill(ReportWriter& writer, std::uint32_t first, std::uint32_t flows, std::size_t most) {
  std::size_t added = 0;
  for (; added < most; ++added) {
    const auto number = first + static_cast<std::uint32_t>(added);
    const Bytes packet = packet_of(flow_of(number, flows), number);
    Report report;
    report.bitmap = kPorts | kIngressTime;
    report.inner_type = InnerType::ipv4;
    report.tracked = true;
    report.inner = packet;
    if (!writer.add(report, hop_of(kReporter, flow_of(number, flows), number))) break;
  }
  return added;
}

}  // namespace

RecordedReports::RecordedReports(std::size_t reports, std::uint32_t flows,
                                 std::size_t per_datagram) {
  std::size_t most = per_datagram == 0 ? kMostBytes : per_datagram;
  for (std::uint32_t number = 0; number < reports;) {
    Bytes datagram(kMostBytes);
    ReportWriter writer({0, 0, kReporter}, datagram);
    const std::size_t added = fill(writer, number, flows, most);
    most = per_datagram_ = added;
    bytes_ = writer.length();
    all_.insert(all_.end(), datagram.begin(),
                datagram.begin() + static_cast<std::ptrdiff_t>(bytes_));
    number += static_cast<std::uint32_t>(added);
    ++count_;
  }
}

std::span<const std::byte> RecordedReports::numbered(std::size_t first, std::size_t count) {
  const auto part = std::span(all_).subspan(first * bytes_, count * bytes_);
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = load<std::uint32_t>(part, i * bytes_);
    store(part, i * bytes_, (word & ~kSequenceMask) | sequence_);
    sequence_ = (sequence_ + 1) & kSequenceMask;
  }
  return part;
}

}  // namespace tributary::bench
