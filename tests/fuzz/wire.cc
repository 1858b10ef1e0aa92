// Aggregation header and extensions, read: what parse() accepts is consistent, can be written
// again to the same bytes, and its extensions are found where an independent walk finds them.
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "core/wire/degraded.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"
#include "core/wire/open_job.h"
#include "core/wire/rank_bitmap.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using namespace wire;
using Bytes = std::span<const std::byte>;

// Where the first extension of `type` has its data, by the layout in docs/protocol.md alone.
std::optional<Bytes> walk_to(Bytes area, unsigned type) {
  std::size_t at = 0;
  while (at < area.size()) {
    const auto words = std::to_integer<std::size_t>(area[at + 1]);
    if ((std::to_integer<unsigned>(area[at]) & 0x7Fu) == type)
      return area.subspan(at + 4, words * 4 - 4);
    at += words * 4;
  }
  return std::nullopt;
}

void check_found(Bytes area) {
  for (unsigned type = 0; type < 128; ++type) {
    const auto expected = walk_to(area, type);
    const auto found = find_extension(area, static_cast<ExtensionType>(type));
    FUZZ_CHECK(expected.has_value() == found.has_value());
    if (!found) continue;
    FUZZ_CHECK(found->data.data() == expected->data());
    FUZZ_CHECK(found->data.size() == expected->size());
  }
}

template <typename T>
T written_and_found(const T& value, std::optional<T> (*find)(Bytes)) {
  std::array<std::byte, 128> room;
  ExtensionWriter writer(room);
  FUZZ_CHECK(writer.add(value));
  FUZZ_CHECK(check_extensions(writer.bytes()) == DropReason::none);
  const auto again = find(writer.bytes());
  FUZZ_CHECK(again.has_value());
  return *again;
}

void check_typed(Bytes area) {
  if (const auto v = find_start_info(area))
    FUZZ_CHECK(written_and_found(*v, find_start_info) == *v);
  if (const auto v = find_task_information(area))
    FUZZ_CHECK(written_and_found(*v, find_task_information) == *v);
  if (const auto v = find_result_info(area))
    FUZZ_CHECK(written_and_found(*v, find_result_info) == *v);
  if (const auto v = find_op_error(area)) FUZZ_CHECK(written_and_found(*v, find_op_error) == *v);
  if (const auto v = find_nonce(area)) {
    std::array<std::byte, 16> room;
    ExtensionWriter writer(room);
    FUZZ_CHECK(writer.add_nonce(*v) && find_nonce(writer.bytes()) == v);
  }
  if (const std::uint64_t run = find_run_id(area); run != 0) {
    std::array<std::byte, 16> room;
    ExtensionWriter writer(room);
    FUZZ_CHECK(writer.add_run_id(run) && find_run_id(writer.bytes()) == run);
  }
}

// A job that a rank may bring has values that some job has (A4).
void check_open_job(Bytes area) {
  const auto found = find_extension(area, ExtensionType::open_job);
  const auto job = found ? read_open_job(*found) : std::nullopt;
  if (!job) return;
  FUZZ_CHECK(job->units > 0 && job->workers() % job->units == 0);
  FUZZ_CHECK(std::has_single_bit(job->window) && job->chunk_bytes % 8 == 0);
  std::array<std::byte, 16> room;
  ExtensionWriter writer(room);
  FUZZ_CHECK(add_open_job(writer, *job));
  FUZZ_CHECK(read_open_job(*find_extension(writer.bytes(), ExtensionType::open_job)) == job);
}

void check_ranks(Bytes area) {
  if (const auto rank = find_target_rank(area)) {
    std::array<std::byte, 16> room;
    ExtensionWriter writer(room);
    FUZZ_CHECK(writer.add_target_rank(*rank) && find_target_rank(writer.bytes()) == rank);
  }
  constexpr std::uint32_t kWorkers = 130;
  using Ranks = std::array<std::uint64_t, rank_words(kWorkers)>;
  Ranks ranks{};
  if (!read_rank_bitmaps(area, kWorkers, ranks)) return;
  FUZZ_CHECK(ranks.back() >> (kWorkers % 64) == 0);
  std::array<std::byte, 128> room;
  ExtensionWriter writer(room);
  Ranks again{};
  FUZZ_CHECK(add_rank_bitmaps(writer, ranks));
  FUZZ_CHECK(read_rank_bitmaps(writer.bytes(), kWorkers, again) && again == ranks);
}

// A list that is taken is true to itself, and the same when it is written again (rule 21).
void check_degraded_list(Bytes area) {
  constexpr std::uint32_t kWorkers = 130;
  using Ranks = std::array<std::uint64_t, rank_words(kWorkers)>;
  Ranks missing{};
  const auto counted = read_degraded_list(area, kWorkers, missing);
  if (!counted) return;
  std::uint32_t absent = 0;
  for (const std::uint64_t word : missing)
    absent += static_cast<std::uint32_t>(std::popcount(word));
  FUZZ_CHECK(*counted != 0 && absent != 0 && *counted + absent == kWorkers);
  std::array<std::byte, 128> room;
  ExtensionWriter writer(room);
  Ranks again{};
  FUZZ_CHECK(add_degraded_list(writer, *counted, missing));
  FUZZ_CHECK(read_degraded_list(writer.bytes(), kWorkers, again) == counted && again == missing);
}

void check_missing_ids(Bytes area) {
  std::array<std::uint32_t, 256> ids{};
  const std::size_t listed = find_missing_ids(area, ids);
  const auto data = walk_to(area, static_cast<unsigned>(ExtensionType::missing_ids));
  FUZZ_CHECK(listed <= (data ? data->size() / 4 : 0));
  std::array<std::uint32_t, 1> one{};
  FUZZ_CHECK(find_missing_ids(area, one) == listed);
  FUZZ_CHECK(find_missing_ids(area, {}) == listed);
  if (listed == 0 || listed > kMaxMissingIds) return;
  FUZZ_CHECK(one[0] == ids[0]);
  std::array<std::byte, kMaxExtensionBytes> room;
  ExtensionWriter writer(room);
  FUZZ_CHECK(writer.add_missing_ids(std::span(ids).first(listed)));
  std::array<std::uint32_t, 256> again{};
  FUZZ_CHECK(find_missing_ids(writer.bytes(), again) == listed && again == ids);
}

void check_written(const Packet& p, Bytes input) {
  const std::size_t header_bytes = input.size() - p.payload.size();
  std::array<std::byte, kHeaderBytes + kMaxExtensionBytes + 8> room;
  const std::size_t written = serialize(p.header, p.extensions, room);
  if (serialized_bytes(p.extensions.size()) > kHeaderBytes + kMaxExtensionBytes) {
    // 255 words cannot be padded to 8 bytes: the writer refuses what the reader tolerates.
    FUZZ_CHECK(written == 0);
    return;
  }
  FUZZ_CHECK(written == serialized_bytes(p.extensions.size()));
  if (p.extensions.size() % 8 == 0) {
    FUZZ_CHECK(written == header_bytes && std::memcmp(room.data(), input.data(), written) == 0);
  }
  std::vector<std::byte> again(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(written));
  again.insert(again.end(), p.payload.begin(), p.payload.end());
  const auto reparsed = parse(again);
  FUZZ_CHECK(std::holds_alternative<Packet>(reparsed));
  FUZZ_CHECK(std::get<Packet>(reparsed).header == p.header);
}

void check_packet(const Packet& p, Bytes input) {
  FUZZ_CHECK(kHeaderBytes + p.extensions.size() + p.payload.size() == input.size());
  FUZZ_CHECK(p.extensions.empty() || p.extensions.data() == input.data() + kHeaderBytes);
  if (p.header.encoding == Encoding::plain) {
    const std::size_t count = p.header.element_count;
    const std::size_t size = size_of(p.header.dtype);
    const bool wide =
        (p.header.type == PacketType::aggregate || p.header.type == PacketType::escalation) &&
        (size == 1 || size == 2) && p.payload.size() == count * 4;
    FUZZ_CHECK(wide || p.payload.size() == count * size);
  }
  for (const char* name : {name_of(p.header.type), name_of(p.header.dtype),
                           name_of(p.header.reduce_op), name_of(p.header.collective)})
    FUZZ_CHECK(std::string_view(name) != "?");
  FUZZ_CHECK(name_of(p.header.reason) != nullptr);
  check_found(p.extensions);
  check_typed(p.extensions);
  check_missing_ids(p.extensions);
  check_degraded_list(p.extensions);
  check_ranks(p.extensions);
  check_open_job(p.extensions);
  check_written(p, input);
}

void check_refusal(DropReason reason, Bytes input) {
  FUZZ_CHECK(reason < DropReason::none);
  if (input.size() < kHeaderBytes) {
    FUZZ_CHECK(reason == DropReason::header_truncated);
  } else if (input[0] != std::byte{kVersion}) {
    FUZZ_CHECK(reason == DropReason::bad_version);
  }
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  const auto input = fuzz::as_bytes(data, size);
  const auto parsed = wire::parse(input);
  if (const auto* reason = std::get_if<DropReason>(&parsed))
    fuzz::check_refusal(*reason, input);
  else
    fuzz::check_packet(std::get<wire::Packet>(parsed), input);
  // Readers of the area check for themselves too: nothing may be read beyond its end.
  wire::find_nonce(input);
  wire::find_op_error(input);
  return 0;
}
