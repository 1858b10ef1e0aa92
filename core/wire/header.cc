#include "core/wire/header.h"

#include <cstring>

#include "core/wire/extension.h"

namespace tributary::wire {
namespace {

void decode(const HeaderV1& w, Header& h) {
  h.type = static_cast<PacketType>(w.type);
  h.flags = w.flags;
  h.job = w.job;
  h.epoch = w.epoch;
  h.attempt = w.attempt;
  h.seed_generation = w.seed_generation;
  h.op = w.op;
  h.chunk = w.chunk;
  h.seq = w.seq;
  h.slot = w.slot;
  h.origin = w.origin;
  h.child = w.child;
  h.fan_in = w.fan_in;
  h.covered = w.covered;
  h.dtype = static_cast<DType>(w.dtype);
  h.reduce_op = static_cast<ReduceOp>(w.reduce_op);
  h.element_count = w.element_count;
  h.scale_exponent = static_cast<std::int16_t>(static_cast<std::uint16_t>(w.scale_exponent));
  h.encoding = static_cast<Encoding>(w.encoding);
  h.collective = static_cast<Collective>(w.collective_ttl >> 4);
  h.ttl = w.collective_ttl & 0x0F;
  h.shard = w.shard;
  h.plane = w.plane_stream >> 4;
  h.stream = w.plane_stream & 0x0F;
  h.reason = static_cast<Reason>(w.reason);
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

// The field values that only this version defines; DropReason::count_ when all are known.
DropReason check_values(const HeaderV1& w) {
  if (w.version != kVersion) return DropReason::bad_version;
  if (w.type == 0 || w.type > kPacketTypeMax) return DropReason::bad_type;
  if ((w.flags & kFlagsMustUnderstand) != 0) return DropReason::bad_flags;
  if (w.dtype > kDTypeMax) return DropReason::bad_dtype;
  if (w.reduce_op == 0 || w.reduce_op > kReduceOpMax) return DropReason::bad_reduce_op;
  if (w.encoding > static_cast<std::uint8_t>(Encoding::compressed)) return DropReason::bad_encoding;
  if ((w.collective_ttl >> 4) > kCollectiveMax) return DropReason::bad_collective;
  return DropReason::count_;
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

// Fields are read and written where they lie: a header put together on the stack and copied by the
// vector would wait for its narrow stores.
DropReason parse(std::span<const std::byte> bytes, Packet& packet) {
  if (bytes.size() < kHeaderBytes) return DropReason::header_truncated;
  const HeaderV1& w = *reinterpret_cast<const HeaderV1*>(bytes.data());
  if (const DropReason bad = check_values(w); bad != DropReason::count_) return bad;

  const std::size_t extension_bytes = std::size_t{w.extension_words} * 4;
  if (bytes.size() < kHeaderBytes + extension_bytes) return DropReason::bad_extension;
  decode(w, packet.header);
  packet.extensions = bytes.subspan(kHeaderBytes, extension_bytes);
  packet.payload = bytes.subspan(kHeaderBytes + extension_bytes);
  packet.congestion_experienced = false;
  if (extension_bytes != 0)
    if (const DropReason bad = check_extensions(packet.extensions); bad != DropReason::count_)
      return bad;
  return payload_length_ok(packet.header, packet.payload.size()) ? DropReason::count_
                                                                 : DropReason::bad_payload_length;
}

std::variant<Packet, DropReason> parse(std::span<const std::byte> bytes) {
  std::variant<Packet, DropReason> parsed;
  const DropReason bad = parse(bytes, std::get<Packet>(parsed));
  if (bad != DropReason::count_) parsed = bad;
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
