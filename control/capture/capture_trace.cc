// Lines of text: a received frame and what was decided about it, then, indented, what was sent or
// dropped for its sake.
//
//      0.000000  w1   1130 B  contribution of job 1: epoch 3 op 5 chunk 17 seq 81 shard 0 child 1;
//                 completed; slot 81 is free again, complete, 2 of 2 children: 0-1   (one line)
//      0.000000  w0   1130 B    sent: result of job 1: epoch 3 op 5 chunk 17 seq 81 shard 0 child 0
#include <algorithm>
#include <cstdio>

#include "config/text/codec.h"
#include "config/topology/topology.h"
#include "control/capture/capture_format.h"
#include "control/capture/rdma_text.h"
#include "core/net/frame.h"
#include "core/net/roce.h"
#include "core/wire/header.h"

namespace tributary::control {
namespace {

using aggregator::ChunkLook;
using dataplane::Action;
using dataplane::CapturedFrame;
using dataplane::CapturePoint;
using dataplane::FrameVerdict;

const char* name_of(Action action) {
  switch (action) {
    case Action::aggregate: return "aggregate";
    case Action::host: return "for a hosted engine";
    case Action::rdma: return "aggregate, by RDMA";
    case Action::forward: return "forward";
    case Action::lldp: return "lldp";
    case Action::probe: return "probe";
    case Action::answer_arp: return "answer arp";
    case Action::answer_echo: return "answer echo";
    case Action::answer_cm: return "answer rdma_cm";
    case Action::returned: return "port unreachable";
    case Action::intercept_arp: return "intercept arp";
    case Action::reassemble: return "put together";
    case Action::drop: return "drop";
  }
  return "?";
}

// "0-2,5".
std::string children_text(std::uint64_t bits) {
  std::vector<std::uint32_t> children;
  for (std::uint32_t child = 0; child < 64; ++child)
    if ((bits >> child & 1) != 0) children.push_back(child);
  return config::ranks_text(children);
}

std::string describe(const ChunkLook& chunk, bool freed_slot) {
  std::string text;
  if (chunk.slot != ChunkLook::kNoSlot)
    text.append("slot ")
        .append(std::to_string(chunk.slot))
        .append(freed_slot ? " is free again, " : ", ");
  text.append(aggregator::name_of(chunk.state));
  if (chunk.state == aggregator::ChunkState::unseen) return text;
  text.append(", ").append(std::to_string(chunk.arrived)).append(" of ");
  text.append(std::to_string(chunk.fan_in)).append(" children");
  if (chunk.children != 0) text.append(": ").append(children_text(chunk.children));
  if (chunk.fan_in > 64) text.append(" of the first 64");
  return text;
}

std::string describe(const FrameVerdict& verdict) {
  if (verdict.handed_to)
    return std::string("handed to lcore ").append(std::to_string(*verdict.handed_to));
  if (!verdict.aggregation) return name_of(verdict.action);
  std::string text = aggregator::name_of(*verdict.aggregation);
  if (verdict.chunk.known) text.append("; ").append(describe(verdict.chunk, verdict.freed_slot));
  return text;
}

std::string describe(const wire::Header& h) {
  std::string text = std::string(wire::name_of(h.type)) + " of job " + std::to_string(h.job);
  const auto add = [&](const char* name, std::uint64_t value) {
    text.append(name).append(std::to_string(value));
  };
  add(": epoch ", h.epoch);
  add(" op ", h.op);
  add(" chunk ", h.chunk);
  add(" seq ", h.seq);
  if (h.plane != 0) add(" plane ", h.plane);
  add(" shard ", h.shard);
  add(" child ", h.child);
  if (h.reason != wire::Reason::none) text.append(" reason ").append(wire::name_of(h.reason));
  return text;
}

// The packet in a SEND, and the queue pairs, or what else RDMA says; empty: it is none of RDMA.
std::string describe_rdma(std::span<const std::byte> udp_payload) {
  wire::RoceView roce;
  if (wire::parse_roce(udp_payload, roce) != DropReason::none) return "";
  wire::Packet packet;
  if (!roce.shape.deth ||
      wire::parse(wire::packet_in_send(roce.payload), packet) != DropReason::none)
    return rdma_text(roce);
  std::string text = describe(packet.header);
  text.append(" from qp ").append(std::to_string(roce.deth.source_qpn));
  return text.append(" to qp ").append(std::to_string(roce.bth.qpn));
}

// The aggregation packet in a datagram, or RDMA's packet; empty: there is none.
std::string describe(const wire::Udp4View& udp) {
  if (udp.endpoints.destination_port == wire::kRocePort) return describe_rdma(udp.payload);
  wire::Packet packet;
  return wire::parse(udp.payload, packet) == DropReason::none ? describe(packet.header) : "";
}

// The aggregation packet in a frame, or its addresses; empty where it is too short for that.
std::string describe(std::span<const std::byte> frame) {
  wire::EthernetView ethernet;
  if (wire::parse_ethernet(frame, ethernet) != DropReason::none) return "";
  wire::Udp4View udp;
  bool is_udp = false;
  std::string text;
  if (ethernet.ether_type == wire::kEtherTypeIpv4 &&
      wire::parse_udp4(ethernet.payload, udp, is_udp) == DropReason::none && is_udp)
    text = describe(udp);
  if (!text.empty()) return text;
  char type[16];
  std::snprintf(type, sizeof type, " 0x%04x", ethernet.ether_type);
  text = config::format_mac(ethernet.source) + " > ";
  text.append(config::format_mac(ethernet.destination)).append(type);
  if (ethernet.vlan_tci) text.append(" vlan ").append(std::to_string(*ethernet.vlan_tci & 0xFFF));
  return text;
}

class TraceFormat : public CaptureFormat {
 public:
  TraceFormat(std::vector<std::string> ports, std::size_t lcores)
      : ports_(std::move(ports)), tells_lcore_(lcores > 1) {
    for (const std::string& port : ports_) width_ = std::max(width_, port.size());
  }

  void begin(std::string&) override {}

  void add(std::string& out, std::size_t lcore, const CapturedFrame& frame,
           std::span<const std::byte> bytes) override {
    if (!began_) start_ = frame.when;
    began_ = true;
    begin_line(out, lcore, frame);
    const std::string what = describe(bytes);
    switch (frame.point) {
      case CapturePoint::verdict:
        out.append(what).append(what.empty() ? "" : "; ").append(describe(frame.verdict));
        if (frame.verdict.way) out.append(way_text(*frame.verdict.way));
        break;
      case CapturePoint::drop:
        out.append("  dropped: ").append(drop_label(frame.reason));
        out.append(": ").append(drop_text(frame.reason));
        break;
      case CapturePoint::tx: out.append("  sent: ").append(what); break;
      case CapturePoint::rx: out.append("received: ").append(what); break;
    }
    out += '\n';
  }

  void end(std::string& out, std::uint64_t missed, const std::string& why) override {
    if (missed != 0)
      out.append(std::to_string(missed))
          .append(
              " lines are missing: frames came faster than they could be written; choose some "
              "with ports or a filter\n");
    if (!why.empty()) out.append(kEnded).append(why) += '\n';
  }

 private:
  // " in vlan 10 to w1", " untagged to w1", " in vlan 10, flooded".
  [[nodiscard]] std::string way_text(const FrameVerdict::Way& way) const {
    std::string text =
        way.vlan == 0 ? std::string(" untagged") : " in vlan " + std::to_string(way.vlan);
    return way.egress ? text + " to " + ports_[*way.egress] : text + ", flooded";
  }
  // When, on which lcore, where, how long.
  void begin_line(std::string& out, std::size_t lcore, const CapturedFrame& frame) const {
    char text[64];
    std::snprintf(text, sizeof text, "%13.6f  ", (frame.when - start_).to_seconds());
    out += text;
    if (tells_lcore_) out.append("lcore ").append(std::to_string(lcore)).append("  ");
    const std::string& port = ports_[frame.port];
    out.append(port).append(width_ - port.size(), ' ');
    std::snprintf(text, sizeof text, "%7u B  ", frame.length);
    out += text;
  }

  std::vector<std::string> ports_;
  std::size_t width_ = 0;
  bool tells_lcore_;
  bool began_ = false;
  Instant start_;
};

}  // namespace

std::unique_ptr<CaptureFormat> trace_format(std::vector<std::string> ports, std::size_t lcores) {
  return std::make_unique<TraceFormat>(std::move(ports), lcores);
}

}  // namespace tributary::control
