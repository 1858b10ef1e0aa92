#include "manager/listen/client_opening.h"

#include <algorithm>
#include <string_view>

namespace tributary::manager {
namespace {

constexpr std::size_t kMostPayload = 16 << 10;  // of a TLS record, and of an HTTP/2 frame at first

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t kFrameHead = 9;  // length: 24 bits, type, flags, stream: 32 bits
constexpr unsigned kSettings = 4;

constexpr std::size_t kRecordHead = 5;  // type, version: 16 bits, length: 16 bits
constexpr unsigned kHandshake = 22;
constexpr unsigned kMajorVersion = 3;

unsigned at(std::span<const std::byte> bytes, std::size_t place) {
  return std::to_integer<unsigned>(bytes[place]);
}

Opening judge_size(std::span<const std::byte> received, std::size_t head, std::size_t payload) {
  if (payload > kMostPayload) return Opening::wrong;
  return received.size() >= head + payload ? Opening::whole : Opening::incomplete;
}

Opening judge_tls(std::span<const std::byte> received) {
  if (!received.empty() && at(received, 0) != kHandshake) return Opening::wrong;
  if (received.size() > 1 && at(received, 1) != kMajorVersion) return Opening::wrong;
  if (received.size() < kRecordHead) return Opening::incomplete;
  const std::size_t length = at(received, 3) << 8 | at(received, 4);
  return length == 0 ? Opening::wrong : judge_size(received, kRecordHead, length);
}

Opening judge_http2(std::span<const std::byte> received) {
  for (std::size_t i = 0; i < std::min(received.size(), kPreface.size()); ++i)
    if (at(received, i) != static_cast<unsigned char>(kPreface[i])) return Opening::wrong;
  if (received.size() < kPreface.size() + kFrameHead) return Opening::incomplete;
  const auto frame = received.subspan(kPreface.size());
  if (at(frame, 3) != kSettings) return Opening::wrong;
  return judge_size(frame, kFrameHead, at(frame, 0) << 16 | at(frame, 1) << 8 | at(frame, 2));
}

}  // namespace

Opening judge_opening(Protocol protocol, std::span<const std::byte> received) {
  return protocol == Protocol::tls ? judge_tls(received) : judge_http2(received);
}

}  // namespace tributary::manager
