#include "core/net/pdelay.h"

#include <cstring>

#include "core/net/byte_order.h"
#include "core/net/lldp.h"

namespace tributary::wire {
namespace {

constexpr std::uint8_t kRequest = 2;  // table 36
constexpr std::uint8_t kResponse = 3;
constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kMessageBytes = 54;  // both
constexpr std::uint8_t kOther = 5;          // table 42: control field
constexpr std::uint8_t kNoInterval = 0x7F;
constexpr std::int64_t kMostCorrectionNs = 60'000'000'000;

// EUI-64 of a MAC address, and a port number that begins at 1: clause 7.5.2.
struct Identity {
  std::array<std::uint8_t, 8> clock{};
  be16 port;
};

struct Message {
  std::uint8_t type = 0;  // low half; the high one is of the transport
  std::uint8_t version = kVersion;
  be16 length = kMessageBytes;
  std::uint8_t domain = kProbeDomain;
  std::uint8_t minor_domain = 0;
  be16 flags;
  be64 correction;  // ns, times 65536
  be32 type_specific;
  Identity source;
  be16 sequence;
  std::uint8_t control = kOther;
  std::uint8_t interval = kNoInterval;
  std::array<std::uint8_t, 10> timestamp{};  // 0: one-step
  Identity requester;                        // reserved in a request
};
static_assert(sizeof(Message) == kMessageBytes);

Identity identity_of(const PortIdentity& port) {
  const MacAddress& m = port.mac;
  return {{m[0], m[1], m[2], 0xFF, 0xFE, m[3], m[4], m[5]},
          static_cast<std::uint16_t>(port.port + 1)};
}

PortIdentity port_of(const Identity& identity) {
  const auto& c = identity.clock;
  return {{c[0], c[1], c[2], c[5], c[6], c[7]}, static_cast<std::uint16_t>(identity.port - 1)};
}

}  // namespace

bool is_probe(std::span<const std::byte> body) {
  if (body.size() < kMessageBytes) return false;
  const auto type = std::to_integer<std::uint8_t>(body[0]) & 0x0F;
  return (type == kRequest || type == kResponse) &&
         (std::to_integer<std::uint8_t>(body[1]) & 0x0F) == kVersion &&
         std::to_integer<std::uint8_t>(body[4]) == kProbeDomain;
}

std::optional<PdelayMessage> parse_pdelay(std::span<const std::byte> body) {
  if (!is_probe(body)) return std::nullopt;
  Message message;
  std::memcpy(&message, body.data(), sizeof message);
  if (message.length < kMessageBytes) return std::nullopt;
  PdelayMessage out;
  out.response = (message.type & 0x0F) == kResponse;
  out.sequence = message.sequence;
  out.from = port_of(message.source);
  if (!out.response) return out;
  out.requester = port_of(message.requester);
  out.correction_ns =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(message.correction)) / 65536;
  if (out.correction_ns < 0 || out.correction_ns > kMostCorrectionNs) return std::nullopt;
  return out;
}

std::size_t write_pdelay(const PdelayMessage& message, std::span<std::byte> frame) {
  if (frame.size() < kPdelayFrameBytes) return 0;
  Message out;
  out.type = message.response ? kResponse : kRequest;
  out.source = identity_of(message.from);
  out.sequence = message.sequence;
  if (message.response) {
    out.requester = identity_of(message.requester);
    out.correction = static_cast<std::uint64_t>(message.correction_ns) * 65536;
  }
  const be16 ether_type = kEtherTypePtp;
  std::byte* at = frame.data();
  const auto put = [&at](const void* bytes, std::size_t count) {
    std::memcpy(at, bytes, count);
    at += count;
  };
  put(kLldpGroup.data(), kLldpGroup.size());
  put(message.from.mac.data(), message.from.mac.size());
  put(&ether_type, sizeof ether_type);
  put(&out, sizeof out);
  return kPdelayFrameBytes;
}

}  // namespace tributary::wire
