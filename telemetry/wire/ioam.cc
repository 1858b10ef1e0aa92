#include "telemetry/wire/ioam.h"

#include "core/net/frame.h"
#include "telemetry/wire/bytes.h"

namespace tributary::telemetry {
namespace {

constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kPad1 = 0;
constexpr std::uint8_t kIoamOption = 0x31;
constexpr std::uint8_t kPreallocated = 0;
constexpr std::size_t kNextHeaderAt = 6;
constexpr std::size_t kHopLimitAt = 7;
constexpr std::size_t kTraceAt = 4;     // option type and length, reserved, IOAM type
constexpr std::size_t kTraceBytes = 8;  // namespace, lengths and flags, trace type
constexpr std::uint16_t kOverflow = 0x0400;
constexpr std::uint16_t kRemainingMask = 0x007F;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

constexpr std::uint32_t bit(unsigned number) {
  return 1u << (31 - number);
}
constexpr std::uint32_t kWide = bit(8) | bit(9) | bit(10);
constexpr std::uint32_t kOpaque = bit(22);

constexpr unsigned words_of_trace(std::uint32_t type) {
  unsigned words = 0;
  for (unsigned number = 0; number < 22; ++number)
    if ((type & bit(number)) != 0) words += (kWide & bit(number)) != 0 ? 2 : 1;
  return words;
}

std::uint32_t part_of_time(const Hop& hop, bool seconds) {
  if (hop.egress_ns == kUnknown64) return kUnknown32;
  return static_cast<std::uint32_t>(seconds ? hop.egress_ns / kNsPerSecond
                                            : hop.egress_ns % kNsPerSecond);
}

std::uint32_t queue_of(const Hop& hop) {
  return hop.queue_occupancy == kUnknown24 ? kUnknown32 : hop.queue_occupancy;
}

class NodeData {
 public:
  NodeData(std::span<std::byte> out, std::uint32_t type) : out_(out), type_(type) {}
  void put(unsigned number, std::uint32_t value) {
    if ((type_ & bit(number)) == 0) return;
    store(out_, at_, value);
    at_ += 4;
  }
  void put_wide(unsigned number, std::uint64_t value) {
    if ((type_ & bit(number)) == 0) return;
    store(out_, at_, value);
    at_ += 8;
  }

 private:
  std::span<std::byte> out_;
  std::uint32_t type_;
  std::size_t at_ = 0;
};

void write_node(std::span<std::byte> out, std::uint32_t type, std::uint8_t hop_limit,
                const IoamNode& node, const Hop& hop) {
  NodeData data(out, type);
  data.put(0, std::uint32_t{hop_limit} << 24 | (node.id & 0xFFFFFF));
  data.put(1, std::uint32_t{hop.ingress_port} << 16 | hop.egress_port);
  data.put(2, part_of_time(hop, true));
  data.put(3, part_of_time(hop, false));
  data.put(4, hop.latency_ns);
  data.put(5, node.data);
  data.put(6, queue_of(hop));
  data.put(7, kUnknown32);  // no checksum complement
  data.put_wide(8, std::uint64_t{hop_limit} << 56 | (node.wide_id & (kUnknown64 >> 8)));
  data.put_wide(9, std::uint64_t{hop.ingress_wide} << 32 | hop.egress_wide);
  data.put_wide(10, node.wide_data);
  data.put(11, hop.buffer);
  for (unsigned number = 12; number < 22; ++number) data.put(number, kUnknown32);
}

// `option` is the whole option, at least kTraceAt + kTraceBytes long.
IoamOutcome fill(std::span<std::byte> option, std::uint8_t hop_limit, const IoamNode& node,
                 const Hop& hop) {
  const std::span<std::byte> trace = option.subspan(kTraceAt);
  if (load<std::uint16_t>(trace, 0) != node.name_space) return IoamOutcome::foreign;
  const auto lengths = load<std::uint16_t>(trace, 2);
  const unsigned node_words = lengths >> 11;
  const unsigned remaining = lengths & kRemainingMask;
  const std::uint32_t type = load<std::uint32_t>(trace, 4) & 0xFFFFFF00;
  const std::size_t space = trace.size() - kTraceBytes;
  if (node_words != words_of_trace(type) || std::size_t{remaining} * 4 > space)
    return IoamOutcome::malformed;
  if ((lengths & kOverflow) != 0) return IoamOutcome::full;
  // An opaque snapshot of length 0 is one word: no schema.
  const unsigned words = node_words + ((type & kOpaque) != 0 ? 1 : 0);
  if (words == 0 || remaining < words) {
    store(trace, 2, static_cast<std::uint16_t>(lengths | kOverflow));
    return IoamOutcome::full;
  }
  const std::size_t at = kTraceBytes + std::size_t{remaining - words} * 4;
  write_node(trace.subspan(at), type, hop_limit, node, hop);
  if ((type & kOpaque) != 0)
    store<std::uint32_t>(trace, at + std::size_t{node_words} * 4, 0x00FFFFFF);
  store(trace, 2, static_cast<std::uint16_t>(lengths - words));
  return IoamOutcome::filled;
}

}  // namespace

IoamOutcome fill_ioam_trace(std::span<std::byte> packet, const IoamNode& node, const Hop& hop) {
  if (packet.size() < wire::kIpv6Bytes + 8 || load8(packet, 0) >> 4 != 6 ||
      load8(packet, kNextHeaderAt) != kHopByHop)
    return IoamOutcome::absent;
  std::size_t at = wire::kIpv6Bytes + 2;
  const std::size_t end =
      wire::kIpv6Bytes + (std::size_t{load8(packet, wire::kIpv6Bytes + 1)} + 1) * 8;
  if (end > packet.size()) return IoamOutcome::malformed;
  while (at < end) {
    const std::uint8_t type = load8(packet, at);
    if (type == kPad1) {
      ++at;
      continue;
    }
    if (at + 2 > end) return IoamOutcome::malformed;
    const std::size_t bytes = std::size_t{load8(packet, at + 1)} + 2;
    if (at + bytes > end) return IoamOutcome::malformed;
    if (type == kIoamOption && bytes >= kTraceAt && load8(packet, at + 3) == kPreallocated) {
      if (bytes < kTraceAt + kTraceBytes) return IoamOutcome::malformed;
      return fill(packet.subspan(at, bytes), load8(packet, kHopLimitAt), node, hop);
    }
    at += bytes;
  }
  return IoamOutcome::absent;
}

}  // namespace tributary::telemetry
