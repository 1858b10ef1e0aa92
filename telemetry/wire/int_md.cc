#include "telemetry/wire/int_md.h"

#include <cstring>

#include "telemetry/wire/bytes.h"
#include "telemetry/wire/find_int.h"

namespace tributary::telemetry {
namespace {

constexpr unsigned kTypeMd = 1;
constexpr unsigned kVersion = 2;
constexpr std::uint32_t kDiscard = 1u << 27;
constexpr std::uint32_t kHopsExceeded = 1u << 26;
constexpr std::uint32_t kMtuExceeded = 1u << 25;
constexpr std::uint8_t kByPort = 1;
constexpr std::size_t kLengthAt = 1;
constexpr std::size_t kHeaderAt = kShimBytes;

void write_header(const IntHeader& h, std::span<std::byte> out) {
  const std::uint32_t first =
      kVersion << 28 | (h.discard ? kDiscard : 0u) | (h.hops_exceeded ? kHopsExceeded : 0u) |
      (h.mtu_exceeded ? kMtuExceeded : 0u) | std::uint32_t{h.hop_words} << 8 | h.remaining_hops;
  store(out, 0, first);
  store(out, 4, h.bitmap);
  store(out, 6, h.domain);
  store(out, 8, h.domain_bitmap);
  store(out, 10, h.domain_flags);
}

IntHeader read_header(std::span<const std::byte> bytes) {
  const auto first = load<std::uint32_t>(bytes, 0);
  IntHeader h;
  h.discard = (first & kDiscard) != 0;
  h.hops_exceeded = (first & kHopsExceeded) != 0;
  h.mtu_exceeded = (first & kMtuExceeded) != 0;
  h.hop_words = static_cast<std::uint8_t>(first >> 8 & 0x1F);
  h.remaining_hops = static_cast<std::uint8_t>(first);
  h.bitmap = load<std::uint16_t>(bytes, 4);
  h.domain = load<std::uint16_t>(bytes, 6);
  h.domain_bitmap = load<std::uint16_t>(bytes, 8);
  h.domain_flags = load<std::uint16_t>(bytes, 10);
  return h;
}

// Moves the bytes from `at` on by `bytes`, and adapts lengths and checksum.
bool open_gap(Frame& frame, UdpPlace& place, std::size_t at, std::size_t bytes) {
  if (frame.buffer.size() - frame.length < bytes) return false;
  if (!change_lengths(frame.bytes(), place, static_cast<std::ptrdiff_t>(bytes))) return false;
  std::memmove(frame.buffer.data() + at + bytes, frame.buffer.data() + at, frame.length - at);
  frame.length += bytes;
  return true;
}

// Changes a 16-bit word that the checksum covers.
void replace_word(Frame& frame, const UdpPlace& place, std::size_t at, std::uint16_t value) {
  const auto before = load<std::uint16_t>(frame.bytes(), at);
  store(frame.bytes(), at, value);
  amend_udp_checksum(frame.bytes(), place, before, value);
}

void set_flag(Frame& frame, const UdpPlace& place, std::uint32_t flag) {
  const std::size_t at = place.payload() + kHeaderAt;
  const auto word = load<std::uint16_t>(frame.bytes(), at);
  replace_word(frame, place, at, static_cast<std::uint16_t>(word | flag >> 16));
}

}  // namespace

Hop IntView::hop(std::size_t index) const {
  const std::size_t bytes = header.hop_words * std::size_t{4};
  return read_hop(header.bitmap, stack.subspan(index * bytes, bytes));
}

bool is_marked(std::span<const std::byte> frame, const UdpPlace& place, const Marking& marking) {
  if (marking.dscp) return dscp_of(frame, place) == *marking.dscp;
  return load<std::uint16_t>(frame, place.udp + 2) == marking.udp_port;
}

Outcome parse_int(std::span<const std::byte> payload, IntView& view) {
  if (payload.size() < kIntFixedBytes) return Outcome::truncated;
  const unsigned type = load8(payload, 0) >> 4;
  view.next_protocol = load8(payload, 0) >> 2 & 3;
  const std::size_t area = std::size_t{load8(payload, kLengthAt)} * 4;
  view.original = load<std::uint16_t>(payload, 2);
  if (type != kTypeMd || view.next_protocol > kByPort || area < kIntHeaderBytes)
    return Outcome::bad_stack;
  if (payload.size() < kShimBytes + area) return Outcome::truncated;
  if (load8(payload, kHeaderAt) >> 4 != kVersion) return Outcome::bad_stack;
  view.header = read_header(payload.subspan(kHeaderAt));
  view.stack = payload.subspan(kIntFixedBytes, area - kIntHeaderBytes);
  const std::size_t per_hop = view.header.hop_words * std::size_t{4};
  if (per_hop == 0) return view.stack.empty() ? Outcome::done : Outcome::bad_stack;
  const bool enough = view.header.hop_words >= words_of(view.header.bitmap);
  return enough && view.stack.size() % per_hop == 0 ? Outcome::done : Outcome::bad_stack;
}

Outcome find_int(std::span<const std::byte> frame, const Marking& marking, UdpPlace& place,
                 IntView& view) {
  if (const Outcome found = find_udp(frame, place); found != Outcome::done) return found;
  if (!is_marked(frame, place, marking)) return Outcome::absent;
  const Outcome parsed = parse_int(frame.subspan(place.payload(), place.payload_bytes()), view);
  if (parsed != Outcome::done) return parsed;
  const bool by_port = view.next_protocol == kByPort;
  return by_port == marking.dscp.has_value() ? Outcome::bad_stack : Outcome::done;
}

Outcome insert_int(Frame& frame, const Marking& marking, std::uint16_t bitmap,
                   std::uint8_t most_hops, const Hop& hop) {
  UdpPlace place;
  if (const Outcome found = find_udp(frame.bytes(), place); found != Outcome::done) return found;
  if (is_marked(frame.bytes(), place, marking)) return Outcome::present;
  const unsigned words = words_of(bitmap);
  if (words == 0 || words > kMostHopWords || most_hops == 0 ||
      (bitmap & ~(kKnownInstructions & ~kChecksumComplement)) != 0)
    return Outcome::bad_request;
  const std::size_t bytes = kIntFixedBytes + std::size_t{words} * 4;
  if (place.packet_bytes() + bytes > frame.mtu) return Outcome::exceeds_mtu;
  const auto port = load<std::uint16_t>(frame.bytes(), place.udp + 2);
  const std::uint8_t dscp = dscp_of(frame.bytes(), place);
  if (!open_gap(frame, place, place.payload(), bytes)) return Outcome::no_room;

  const std::span<std::byte> area = frame.bytes().subspan(place.payload(), bytes);
  const unsigned npt = marking.dscp ? 0 : kByPort;
  area[0] = static_cast<std::byte>(kTypeMd << 4 | npt << 2);
  area[kLengthAt] = static_cast<std::byte>(bytes / 4 - 1);
  store<std::uint16_t>(area, 2, marking.dscp ? static_cast<std::uint16_t>(dscp << 2) : port);
  IntHeader header;
  header.hop_words = static_cast<std::uint8_t>(words);
  header.remaining_hops = static_cast<std::uint8_t>(most_hops - 1);
  header.bitmap = bitmap;
  write_header(header, area.subspan(kHeaderAt));
  write_hop(hop, bitmap, area.subspan(kIntFixedBytes));
  amend_udp_checksum(frame.bytes(), place, area, true);
  if (marking.dscp)
    set_dscp(frame.bytes(), place, *marking.dscp);
  else
    set_destination_port(frame.bytes(), place, marking.udp_port);
  return Outcome::done;
}

Outcome push_hop(Frame& frame, const Marking& marking, const Hop& hop) {
  UdpPlace place;
  IntView view;
  if (const Outcome found = find_int(frame.bytes(), marking, place, view); found != Outcome::done)
    return found;
  const std::size_t bytes = view.header.hop_words * std::size_t{4};
  if (bytes == 0) return Outcome::bad_request;
  if (view.header.remaining_hops == 0) {
    set_flag(frame, place, kHopsExceeded);
    return Outcome::hops_used_up;
  }
  if (place.packet_bytes() + bytes > frame.mtu) {
    set_flag(frame, place, kMtuExceeded);
    return Outcome::exceeds_mtu;
  }
  const std::size_t area = view.bytes() / 4 - 1;
  if (area + view.header.hop_words > 255) return Outcome::no_room;
  const std::size_t top = place.payload() + kIntFixedBytes;
  const std::uint16_t bitmap = view.header.bitmap;
  const auto left =
      static_cast<std::uint16_t>(view.header.hop_words << 8 | (view.header.remaining_hops - 1));
  if (!open_gap(frame, place, top, bytes)) return Outcome::no_room;
  const std::span<std::byte> added = frame.bytes().subspan(top, bytes);
  // Metadata of a domain that this node does not know is written as unknown.
  std::memset(added.data(), 0xFF, added.size());
  write_hop(hop, bitmap, added);
  amend_udp_checksum(frame.bytes(), place, added, true);
  const std::size_t shim = place.payload();
  const auto type = load8(frame.bytes(), shim);
  replace_word(frame, place, shim, static_cast<std::uint16_t>(type << 8 | (area + bytes / 4)));
  const auto reserved = load<std::uint16_t>(frame.bytes(), shim + kHeaderAt + 2) & 0xE000;
  replace_word(frame, place, shim + kHeaderAt + 2, static_cast<std::uint16_t>(reserved | left));
  return Outcome::done;
}

Outcome strip_int(Frame& frame, const Marking& marking, Taken& taken, IntView& view) {
  UdpPlace place;
  if (const Outcome found = find_int(frame.bytes(), marking, place, view); found != Outcome::done)
    return found;
  const std::size_t bytes = view.bytes();
  const std::size_t at = place.payload();
  std::memcpy(taken.bytes, frame.buffer.data() + at, bytes);
  if (marking.dscp)
    set_dscp(frame.bytes(), place, static_cast<std::uint8_t>(view.original >> 2 & 0x3F));
  else
    set_destination_port(frame.bytes(), place, view.original);
  amend_udp_checksum(frame.bytes(), place, frame.bytes().subspan(at, bytes), false);
  change_lengths(frame.bytes(), place, -static_cast<std::ptrdiff_t>(bytes));
  std::memmove(frame.buffer.data() + at, frame.buffer.data() + at + bytes,
               frame.length - at - bytes);
  frame.length -= bytes;
  return parse_int(std::span(taken.bytes).first(bytes), view);
}

}  // namespace tributary::telemetry
