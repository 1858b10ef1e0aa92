#include "core/wire/header.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "core/wire/extension.h"

namespace tributary::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "decode() turns bytes round");
// For code in which one instruction reorders 16 bytes: every CPU that DPDK runs on has it.
#ifdef __x86_64__
#define TRIBUTARY_SHUFFLES [[gnu::target("ssse3")]]
#else
#define TRIBUTARY_SHUFFLES
#endif

// 16 bytes of the wire, and the fields in them.
using Bytes16 [[gnu::vector_size(16)]] = std::uint8_t;

inline Bytes16 load(const std::byte* from) {
  Bytes16 bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return bytes;
}
inline void store(const Bytes16& bytes, Header& h, std::size_t at) {
  std::memcpy(reinterpret_cast<std::byte*>(&h) + at, &bytes, sizeof bytes);
}

// Offsets of the three 16-byte groups; decode() puts each into host order.
constexpr std::size_t kFirst = offsetof(HeaderV1, flags);
constexpr std::size_t kSecond = offsetof(HeaderV1, chunk);
constexpr std::size_t kThird = offsetof(HeaderV1, child);

TRIBUTARY_SHUFFLES inline void decode(const std::byte* wire, Header& h) {
  const Bytes16 first = load(wire + kFirst);
  const Bytes16 second = load(wire + kSecond);
  const Bytes16 third = load(wire + kThird);
  store(__builtin_shufflevector(first, first, 3, 2, 1, 0, 7, 6, 5, 4, 9, 8, 10, 11, 15, 14, 13, 12),
        h, offsetof(Header, flags));
  store(
      __builtin_shufflevector(second, second, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12),
      h, offsetof(Header, chunk));
  store(__builtin_shufflevector(third, third, 1, 0, 3, 2, 7, 6, 5, 4, 11, 10, 13, 12, 8, 9, 14, 15),
        h, offsetof(Header, child));
  const HeaderV1& w = *reinterpret_cast<const HeaderV1*>(wire);
  h.type = static_cast<PacketType>(w.type);
  h.collective = static_cast<Collective>(w.collective_ttl >> 4);
  h.plane = w.plane_stream >> 4;
  h.stream = w.plane_stream & 0x0F;
  h.reason = static_cast<Reason>(w.reason);
  h.shard = w.shard;
  h.ttl = w.collective_ttl & 0x0F;
}

void encode(const Header& h, std::uint8_t extension_words, HeaderV1& w) {
  w.version = kVersion;
  w.type = static_cast<std::uint8_t>(h.type);
  w.flags = h.flags;
  w.job = h.job;
  w.epoch = h.epoch;
  w.attempt = h.attempt;
  w.seed_generation = h.seed_generation;
  w.op = h.op;
  w.chunk = h.chunk;
  w.seq = h.seq;
  w.slot = h.slot;
  w.origin = h.origin;
  w.child = h.child;
  w.fan_in = h.fan_in;
  w.covered = h.covered;
  w.dtype = static_cast<std::uint8_t>(h.dtype);
  w.reduce_op = static_cast<std::uint8_t>(h.reduce_op);
  w.element_count = h.element_count;
  w.scale_exponent = static_cast<std::uint16_t>(h.scale_exponent);
  w.encoding = static_cast<std::uint8_t>(h.encoding);
  w.collective_ttl =
      static_cast<std::uint8_t>(static_cast<std::uint8_t>(h.collective) << 4 | (h.ttl & 0x0F));
  w.shard = h.shard;
  w.plane_stream = static_cast<std::uint8_t>(h.plane << 4 | (h.stream & 0x0F));
  w.reason = static_cast<std::uint8_t>(h.reason);
  w.extension_words = extension_words;
}

// The largest valid value of each byte of 16, after 1 is subtracted from bytes that may not be 0.
struct Limits {
  Bytes16 less;
  Bytes16 most;
};
constexpr std::uint8_t kAny = 0xFF;
constexpr Limits kAtStart = {{1, 1},
                             {kVersion - 1, kPacketTypeMax - 1, 0, kAny, kAny, kAny, kAny, kAny,
                              kAny, kAny, kAny, kAny, kAny, kAny, kAny, kAny}};
constexpr Limits kInThird = {
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {kAny, kAny, kAny, kAny, kAny, kAny, kAny, kAny, kDTypeMax, kReduceOpMax - 1, kAny, kAny, kAny,
     kAny, static_cast<std::uint8_t>(Encoding::compressed), kCollectiveMax << 4 | 0x0F}};
static_assert(kVersion == 1 && kFlagsMustUnderstand == 0xFF000000u, "of flags, their first byte");

// Whether this version defines all values of a header's fields.
inline bool knows_values(const std::byte* wire) {
  const auto beyond = (load(wire) - kAtStart.less > kAtStart.most) |
                      (load(wire + kThird) - kInThird.less > kInThird.most);
  std::array<std::uint64_t, 2> halves;
  std::memcpy(halves.data(), &beyond, sizeof halves);
  return (halves[0] | halves[1]) == 0;
}
// Which value this version does not define; DropReason::none when it defines all.
DropReason check_values(const HeaderV1& w) {
  if (w.version != kVersion) return DropReason::bad_version;
  if (w.type == 0 || w.type > kPacketTypeMax) return DropReason::bad_type;
  if ((w.flags & kFlagsMustUnderstand) != 0) return DropReason::bad_flags;
  if (w.dtype > kDTypeMax) return DropReason::bad_dtype;
  if (w.reduce_op == 0 || w.reduce_op > kReduceOpMax) return DropReason::bad_reduce_op;
  if (w.encoding > static_cast<std::uint8_t>(Encoding::compressed)) return DropReason::bad_encoding;
  if ((w.collective_ttl >> 4) > kCollectiveMax) return DropReason::bad_collective;
  return DropReason::none;
}

bool payload_length_ok(const Header& h, std::size_t bytes) {
  // Compressed and block-scaled payloads carry their own length rules.
  if (h.encoding != Encoding::plain) return true;
  const std::size_t element = size_of(h.dtype);
  if (bytes == h.element_count * element) return true;
  // Partial sums of small types may travel in what they are accumulated in, which is 4 bytes wide.
  const bool partial = h.type == PacketType::aggregate || h.type == PacketType::escalation;
  return partial && element != 0 && element < 4 && bytes == std::size_t{h.element_count} * 4;
}

}  // namespace

std::optional<JobPlane> peek_job(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  HeaderV1 header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return JobPlane{header.job, static_cast<std::uint8_t>(header.plane_stream >> 4)};
}

// Reads fields where they lie: a header put together on the stack and copied by the vector would
// wait for its narrow stores.
TRIBUTARY_SHUFFLES DropReason parse(std::span<const std::byte> bytes, Packet& packet) {
  if (bytes.size() < kHeaderBytes) return DropReason::header_truncated;
  const HeaderV1& w = *reinterpret_cast<const HeaderV1*>(bytes.data());
  if (!knows_values(bytes.data())) return check_values(w);

  const std::size_t extension_bytes = std::size_t{w.extension_words} * 4;
  if (bytes.size() < kHeaderBytes + extension_bytes) return DropReason::bad_extension;
  decode(bytes.data(), packet.header);
  packet.extensions = bytes.subspan(kHeaderBytes, extension_bytes);
  packet.payload = bytes.subspan(kHeaderBytes + extension_bytes);
  packet.congestion_experienced = false;
  if (extension_bytes != 0)
    if (const DropReason bad = check_extensions(packet.extensions); bad != DropReason::none)
      return bad;
  return payload_length_ok(packet.header, packet.payload.size()) ? DropReason::none
                                                                 : DropReason::bad_payload_length;
}

std::variant<Packet, DropReason> parse(std::span<const std::byte> bytes) {
  std::variant<Packet, DropReason> parsed;
  const DropReason bad = parse(bytes, std::get<Packet>(parsed));
  if (bad != DropReason::none) parsed = bad;
  return parsed;
}

std::size_t serialize(const Header& header, std::span<const std::byte> extensions,
                      std::span<std::byte> out) {
  const std::size_t total = serialized_bytes(extensions.size());
  const std::size_t padded = total - kHeaderBytes;
  if (out.size() < total || padded > kMaxExtensionBytes || extensions.size() % 4 != 0) return 0;
  encode(header, static_cast<std::uint8_t>(padded / 4), *reinterpret_cast<HeaderV1*>(out.data()));
  if (!extensions.empty())
    std::memcpy(out.data() + kHeaderBytes, extensions.data(), extensions.size());
  for (std::size_t at = extensions.size(); at < padded; at += 4)
    write_padding_word(out.subspan(kHeaderBytes + at, 4));
  return total;
}

}  // namespace tributary::wire
