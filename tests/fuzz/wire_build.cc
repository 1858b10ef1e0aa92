// Aggregation header and extensions, written: whatever the writers accept, parse() reads back as
// it was, and a buffer that is too small is refused, never overrun.
#include <algorithm>
#include <array>
#include <vector>

#include "core/wire/extension.h"
#include "core/wire/header.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using namespace wire;

Header draw_header(Input& in) {
  Header h;
  h.type = static_cast<PacketType>(in.between(1, kPacketTypeMax));
  h.flags = in.u32() & ~kFlagsMustUnderstand;
  h.job = in.u32();
  h.epoch = in.u16();
  h.attempt = in.u8();
  h.seed_generation = in.u8();
  h.op = in.u32();
  h.chunk = in.u32();
  h.seq = in.u32();
  h.slot = in.u32();
  h.origin = in.u32();
  h.child = in.u16();
  h.fan_in = in.u16();
  h.covered = in.u32();
  h.dtype = static_cast<DType>(in.below(kDTypeMax + 1));
  h.reduce_op = static_cast<ReduceOp>(in.between(1, kReduceOpMax));
  h.element_count = static_cast<std::uint16_t>(in.below(64));
  h.scale_exponent = static_cast<std::int16_t>(in.u16());
  h.encoding = static_cast<Encoding>(in.below(3));
  h.collective = static_cast<Collective>(in.below(kCollectiveMax + 1));
  h.ttl = static_cast<std::uint8_t>(in.below(16));
  h.shard = in.u8();
  h.plane = static_cast<std::uint8_t>(in.below(16));
  h.stream = static_cast<std::uint8_t>(in.below(16));
  h.reason = static_cast<Reason>(in.u8());
  return h;
}

// Adds one extension; false when the writer has no room for it.
bool add_extension(ExtensionWriter& writer, Input& in) {
  switch (in.below(7)) {
    case 0: return writer.add_nonce(in.u64());
    case 1: return writer.add_crc32c_placeholder();
    case 2: return writer.add(TaskInformation{in.u64(), in.u32(), in.u32()});
    case 3: return writer.add(ResultInfo{in.u32(), in.u32(), in.u32(), in.u8()});
    case 4:
      return writer.add(StartInfo{in.u32(), in.u32(), in.u32(), in.u32(), in.u32(), in.u8(),
                                  in.u8(), in.u16(), in.u32(), in.u32(), in.u8(), in.u8(), in.u8(),
                                  in.u8(), in.u16() + 1u});
    case 5: {
      std::vector<std::uint32_t> ids(in.below(300));
      std::fill(ids.begin(), ids.end(), in.u32());
      const bool added = writer.add_missing_ids(ids);
      FUZZ_CHECK(!added || ids.size() <= kMaxMissingIds);
      return added;
    }
    default: {
      const std::uint32_t type = in.below(kExtensionTypeMax + 1) | (in.flag() ? kCriticalBit : 0u);
      const std::uint16_t inline_value = in.u16();
      const auto data = in.block(in.below(1200));
      return writer.add_raw(static_cast<std::uint8_t>(type), inline_value, data);
    }
  }
}

void check(Input& in) {
  const Header h = draw_header(in);
  // Exact sizes from the heap, so that a sanitizer sees every byte beyond them.
  std::vector<std::byte> room(in.below(kMaxExtensionBytes + 64));
  ExtensionWriter writer(room);
  for (std::uint32_t n = in.below(6); n > 0; --n) {
    const std::size_t before = writer.bytes().size();
    const bool added = add_extension(writer, in);
    FUZZ_CHECK(added == (writer.bytes().size() > before));
    FUZZ_CHECK(writer.bytes().size() <= room.size() && writer.bytes().size() % 4 == 0);
  }
  const auto extensions = writer.bytes();
  FUZZ_CHECK(check_extensions(extensions) == DropReason::none);

  const std::size_t needed = serialized_bytes(extensions.size());
  std::vector<std::byte> packet(in.flag() ? in.below(1200) : needed);
  const std::size_t written = serialize(h, extensions, packet);
  const bool fits = packet.size() >= needed && needed - kHeaderBytes <= kMaxExtensionBytes;
  FUZZ_CHECK(written == (fits ? needed : 0));
  if (!fits) return;

  packet.resize(written);
  const auto payload = in.block(h.element_count * size_of(h.dtype));
  packet.insert(packet.end(), payload.begin(), payload.end());
  const auto parsed = parse(packet);
  FUZZ_CHECK(std::holds_alternative<Packet>(parsed));
  const auto& p = std::get<Packet>(parsed);
  FUZZ_CHECK(p.header == h);
  FUZZ_CHECK(p.payload.size() == payload.size());
  FUZZ_CHECK(std::equal(extensions.begin(), extensions.end(), p.extensions.begin()));
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input in(data, size);
  tributary::fuzz::check(in);
  return 0;
}
