// Rule 18: what is sealed checks out, any flipped bit is found, and the CRC agrees with one that is
// computed bit by bit over the packet with a hole.
#include <cstring>
#include <vector>

#include "core/wire/extension.h"
#include "core/wire/integrity.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"
#include "worker/transport/packet_check.h"

namespace tributary::fuzz {
namespace {

using namespace wire;
using Bytes = std::span<const std::byte>;

// RFC 3720, appendix B.4: Castagnoli's polynomial, reflected.
std::uint32_t plain_crc32c(Bytes bytes) {
  std::uint32_t state = 0xFFFFFFFF;
  for (const std::byte b : bytes) {
    state ^= std::to_integer<std::uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ ((state & 1) != 0 ? 0x82F63B78 : 0);
  }
  return ~state;
}

std::size_t hole_of(Bytes packet, const Packet& p) {
  const auto crc = find_extension(p.extensions, ExtensionType::crc32c);
  return crc && crc->data.size() >= 4 ? static_cast<std::size_t>(crc->data.data() - packet.data())
                                      : 0;
}

DropReason judged(Bytes packet) {
  const auto parsed = parse(packet);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) return *bad;
  return worker::check_crc32c(packet, std::get<Packet>(parsed), true);
}

void flip(std::vector<std::byte>& bytes, std::uint32_t at) {
  const std::size_t bit = at % (bytes.size() * 8);
  bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
}

void check_crc(Bytes input, std::uint32_t bit) {
  std::vector<std::byte> packet(input.begin(), input.end());
  const auto parsed = parse(packet);
  const auto* p = std::get_if<Packet>(&parsed);
  if (p == nullptr) {
    // A caller may seal bytes that it did not parse: no byte outside may be touched.
    seal_crc32c(packet);
    return;
  }
  const std::size_t hole = hole_of(packet, *p);
  FUZZ_CHECK(seal_crc32c(packet) == (hole != 0));
  FUZZ_CHECK(packet_crc32c(packet).has_value() == (hole != 0));
  if (hole == 0) {
    FUZZ_CHECK(judged(packet) == DropReason::no_integrity);
    return;
  }
  std::vector<std::byte> zeroed = packet;
  std::memset(zeroed.data() + hole, 0, 4);
  FUZZ_CHECK(*packet_crc32c(packet) == plain_crc32c(zeroed));
  FUZZ_CHECK(judged(packet) == DropReason::none);
  flip(packet, bit);
  FUZZ_CHECK(judged(packet) != DropReason::none);
}

void check_frame(Bytes input, std::uint32_t bit) {
  FrameTemplate t;
  t.source = {2, 0, 0, 0, 0, 1};
  t.endpoints = {0x0A4D0001, 0x0A4D00FE, 40000, 47000};
  std::vector<std::byte> frame(frame_header_bytes(t));
  frame.insert(frame.end(), input.begin(), input.end());
  if (write_frame_headers(t, frame, input.size()) == 0) return;
  const auto view_of = [&](Bytes whole) {
    return std::get<std::optional<Udp4View>>(parse_udp4(whole.subspan(kEthernetBytes)));
  };
  const auto udp = view_of(frame);
  FUZZ_CHECK(udp && udp4_checksum_ok(*udp));
  const auto parsed = parse(udp->payload);
  if (const auto* p = std::get_if<Packet>(&parsed)) {
    const DropReason found = check_integrity(*udp, *p);
    const bool has_crc = hole_of(udp->payload, *p) != 0;
    FUZZ_CHECK(has_crc ? found == judged(udp->payload) : found == DropReason::none);
  }
  if (input.empty()) return;
  std::vector<std::byte> payload(input.begin(), input.end());
  flip(payload, bit);
  std::memcpy(frame.data() + frame_header_bytes(t), payload.data(), payload.size());
  FUZZ_CHECK(!udp4_checksum_ok(*view_of(frame)));
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary::fuzz;
  // The last bytes choose the bit, so that a packet stays a packet at the front.
  const std::size_t tail = size < 4 ? 0 : 2;
  Input choice(data + size - tail, tail);
  const std::uint32_t bit = choice.u16();
  const auto input = as_bytes(data, size - tail);
  check_crc(input, bit);
  check_frame(input, bit);
  return 0;
}
