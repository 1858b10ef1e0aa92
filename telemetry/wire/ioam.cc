#include "telemetry/wire/ioam.h"

#include <algorithm>

#include "core/net/frame.h"
#include "telemetry/wire/bytes.h"

namespace tributary::telemetry {
namespace {

constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kPad1 = 0;
constexpr std::uint8_t kIoamOption = 0x31;
constexpr std::uint8_t kPreallocated = 0;
constexpr std::uint16_t kDefaultNamespace = 0;
constexpr std::size_t kPayloadLengthAt = 4;
constexpr std::size_t kNextHeaderAt = 6;
constexpr std::size_t kHopLimitAt = 7;
constexpr std::size_t kTraceAt = 4;     // option type and length, reserved, IOAM type
constexpr std::size_t kTraceBytes = 8;  // namespace, lengths and flags, trace type
constexpr std::uint16_t kOverflow = 0x0400;
constexpr std::uint16_t kRemainingMask = 0x007F;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kNsPerMicrosecond = 1'000;
// A transit delay that is longer than the other bits can say (RFC 9197, section 4.4.2.5).
constexpr std::uint32_t kDelayOverflow = 0x80000000;

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

// POSIX-based format (RFC 9197, section 5.3).
std::uint32_t seconds_of(const Hop& hop) {
  if (hop.egress_ns == kUnknown64) return kUnknown32;
  return static_cast<std::uint32_t>(hop.egress_ns / kNsPerSecond);
}

std::uint32_t microseconds_of(const Hop& hop) {
  if (hop.egress_ns == kUnknown64) return kUnknown32;
  return static_cast<std::uint32_t>(hop.egress_ns % kNsPerSecond / kNsPerMicrosecond);
}

std::uint32_t delay_of(const Hop& hop) {
  if (hop.latency_ns == kUnknown32) return kUnknown32;
  return std::min(hop.latency_ns, kDelayOverflow);
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
  data.put(2, seconds_of(hop));
  data.put(3, microseconds_of(hop));
  data.put(4, delay_of(hop));
  data.put(5, node.data);
  data.put(6, queue_of(hop));
  data.put(7, kUnknown32);  // no checksum complement
  data.put_wide(8, std::uint64_t{hop_limit} << 56 | (node.wide_id & (kUnknown64 >> 8)));
  data.put_wide(9, std::uint64_t{hop.ingress_wide} << 32 | hop.egress_wide);
  data.put_wide(10, node.wide_data);
  data.put(11, hop.buffer);
  for (unsigned number = 12; number < 22; ++number) data.put(number, kUnknown32);
}

// A pre-allocated trace.
struct Trace {
  std::size_t at = 0;  // in the packet
  std::size_t bytes = 0;
  std::uint32_t type = 0;
  unsigned words = 0;      // that a node writes
  unsigned remaining = 0;  // words that are left
  bool overflowed = false;
};

// Reads the data of an option at `at`. Filled: there is space for a node.
IoamOutcome judge(std::span<const std::byte> packet, std::uint16_t name_space, Trace& trace) {
  const auto of = load<std::uint16_t>(packet, trace.at);
  if (of != name_space && of != kDefaultNamespace) return IoamOutcome::foreign;
  const auto lengths = load<std::uint16_t>(packet, trace.at + 2);
  const unsigned node_words = lengths >> 11;
  trace.remaining = lengths & kRemainingMask;
  trace.overflowed = (lengths & kOverflow) != 0;
  trace.type = load<std::uint32_t>(packet, trace.at + 4) & 0xFFFFFF00;
  const std::size_t space = trace.bytes - kTraceBytes;
  if (node_words != words_of_trace(trace.type) || std::size_t{trace.remaining} * 4 > space)
    return IoamOutcome::malformed;
  // An opaque snapshot of length 0 is one word: no schema.
  trace.words = node_words + ((trace.type & kOpaque) != 0 ? 1 : 0);
  if (trace.words == 0) return IoamOutcome::absent;  // it asks for nothing
  return trace.overflowed || trace.remaining < trace.words ? IoamOutcome::full
                                                           : IoamOutcome::filled;
}

// Finds the first trace of a known namespace.
IoamOutcome find(std::span<const std::byte> packet, std::uint16_t name_space, Trace& trace) {
  if (packet.size() < wire::kIpv6Bytes + 8 || load8(packet, 0) >> 4 != 6 ||
      load8(packet, kNextHeaderAt) != kHopByHop)
    return IoamOutcome::absent;
  const std::size_t whole = wire::kIpv6Bytes + load<std::uint16_t>(packet, kPayloadLengthAt);
  std::size_t at = wire::kIpv6Bytes + 2;
  const std::size_t end =
      wire::kIpv6Bytes + (std::size_t{load8(packet, wire::kIpv6Bytes + 1)} + 1) * 8;
  if (end > std::min(packet.size(), whole)) return IoamOutcome::malformed;
  IoamOutcome found = IoamOutcome::absent;
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
      trace.at = at + kTraceAt;
      trace.bytes = bytes - kTraceAt;
      found = judge(packet, name_space, trace);
      if (found != IoamOutcome::foreign) return found;
    }
    at += bytes;
  }
  return found;
}

}  // namespace

IoamOutcome judge_ioam_trace(std::span<const std::byte> packet, std::uint16_t name_space) {
  Trace trace;
  return find(packet, name_space, trace);
}

IoamOutcome fill_ioam_trace(std::span<std::byte> packet, const IoamNode& node, const Hop& hop) {
  Trace trace;
  const IoamOutcome found = find(packet, node.name_space, trace);
  const auto lengths = [&] { return load<std::uint16_t>(packet, trace.at + 2); };
  if (found == IoamOutcome::full)
    store(packet, trace.at + 2, static_cast<std::uint16_t>(lengths() | kOverflow));
  if (found != IoamOutcome::filled) return found;
  const std::size_t at = trace.at + kTraceBytes + std::size_t{trace.remaining - trace.words} * 4;
  write_node(packet.subspan(at), trace.type, load8(packet, kHopLimitAt), node, hop);
  if ((trace.type & kOpaque) != 0)
    store<std::uint32_t>(packet, at + std::size_t{trace.words - 1} * 4, 0x00FFFFFF);
  store(packet, trace.at + 2, static_cast<std::uint16_t>(lengths() - trace.words));
  return IoamOutcome::filled;
}

}  // namespace tributary::telemetry
