// Extensions between header and payload: u8 type (bit 7: critical), u8 length in 4-byte
// words including this one, u16 inline value, then data. All fields are big-endian.
//
// Reader: check_extensions() once (parse() does it), then find_extension(). Writer: ExtensionWriter
// over a caller's buffer; it never overflows, and reports when it has no room.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/drop_reason.h"
#include "core/net/byte_order.h"
#include "core/wire/types.h"

namespace tributary::wire {

enum class ExtensionType : std::uint8_t {
  padding = 0,           // one word, inline 0
  missing_ids = 1,       // inline: count; data: u32 ids
  rank_bitmap = 2,       // inline: number of u32 words; data: u32 base, words
  task_information = 3,  // see TaskInformation
  authentication = 4,
  crc32c = 5,       // data: u32 CRC32C of header, extensions (this data as 0) and payload
  result_info = 6,  // see ResultInfo
  degraded_list = 7,
  error = 8,  // see OpError
  target_rank = 9,
  nonce = 10,       // data: u64
  start_info = 11,  // see StartInfo
  drain = 12,       // see core/wire/drain.h
  name = 13,        // see core/wire/data_name.h
  value_info = 14,  // see core/wire/data_name.h
  open_job = 15,    // see core/wire/open_job.h
  run_id = 16,      // data: u64
};
inline constexpr std::uint8_t kExtensionTypeMax = 16;
inline constexpr std::uint8_t kCriticalBit = 0x80;
// The most ids that one packet lists: the area holds 255 words and is padded to 8 bytes, and a
// nonce and a CRC32C must fit beside the list.
inline constexpr std::size_t kMaxMissingIds = 248;

struct Extension {
  ExtensionType type = ExtensionType::padding;
  bool critical = false;
  std::uint16_t inline_value = 0;
  std::span<const std::byte> data;
};

// DropReason::none when well-formed; bad_extension or critical_extension otherwise.
DropReason check_extensions(std::span<const std::byte> area);
// Takes the first extension off a checked area; nullopt at its end.
std::optional<Extension> next_extension(std::span<const std::byte>& area);
// First extension of this type in a checked area.
std::optional<Extension> find_extension(std::span<const std::byte> area, ExtensionType type);
void write_padding_word(std::span<std::byte> four_bytes);

// START: the settings that every member must know before it sends data.
struct StartInfo {
  std::uint32_t window = 0;       // chunks per shard in flight, power of two
  std::uint32_t chunk_bytes = 0;  // largest payload
  std::uint32_t workers = 0;
  std::uint32_t lease_ms = 0;
  std::uint32_t group_ipv4 = 0;  // results are sent to this multicast group
  std::uint8_t shards = 1;
  std::uint8_t integrity = 0;  // 0 UDP checksum, 1 CRC32C extension, 2 always a UDP checksum
  std::uint16_t udp_base_port = 0;
  std::uint32_t completion_host = 0;  // 0: the engine on the root
  std::uint32_t host_term = 0;
  // Raw numbers, like integrity: a worker that does not know one refuses to start.
  std::uint8_t partials = 0;    // wire::Partials
  std::uint8_t order = 0;       // wire::Order
  std::uint8_t arithmetic = 0;  // wire::Arithmetic
  std::uint8_t notify = 0;      // wire::Notify
  std::uint32_t planes = 1;     // of the job, each with an epoch of its own
  bool operator==(const StartInfo&) const = default;
};

// Total size of an op, on its chunk 0: lets the switch detect workers that disagree.
struct TaskInformation {
  std::uint64_t total_elements = 0;
  std::uint32_t workers = 0;
  std::uint32_t nodes = 0;  // second-level fan-in; 0: single level
  bool operator==(const TaskInformation&) const = default;
};

// Sentinel in an error: the sender is attached to another switch.
inline constexpr std::uint32_t kUnknownRank = 0xFFFFFFFF;

// One rank's contribution, as the error extension reports it.
struct OpDescription {
  static constexpr std::uint16_t kNoTarget = 0xFFFF;

  std::uint64_t total_elements = 0;  // 0 if only this chunk's count is known
  std::uint32_t rank = 0;
  std::uint16_t element_count = 0;  // of the chunk
  DType dtype = DType::none;
  ReduceOp reduce_op = ReduceOp::sum;
  Collective collective = Collective::allreduce;
  bool last = false;
  Encoding encoding = Encoding::plain;
  std::int16_t scale_exponent = 0;  // of block-scaled data
  // The root, or the rank that gets this chunk's result; for a model op, the array.
  std::uint16_t target = kNoTarget;
  bool operator==(const OpDescription&) const = default;
};
struct OpError {
  OpDescription expected;  // of the first contributor
  OpDescription got;
  bool operator==(const OpError&) const = default;
};

// Results that carry job state (seed change, host term); used from the completion engine on.
struct ResultInfo {
  std::uint32_t window = 0;
  std::uint32_t effective_from_seq = 0;
  std::uint32_t host_term = 0;
  std::uint8_t seed_generation = 0;
  bool operator==(const ResultInfo&) const = default;
};

class ExtensionWriter {
 public:
  explicit ExtensionWriter(std::span<std::byte> buffer) : buffer_(buffer) {}

  bool add_missing_ids(std::span<const std::uint32_t> ids);
  bool add_nonce(std::uint64_t nonce);
  // JOIN: a number of all ranks of one start of a program, and another at the next start.
  bool add_run_id(std::uint64_t run_id);
  bool add_target_rank(std::uint32_t rank);
  bool add_crc32c_placeholder();
  bool add(const StartInfo& info);
  bool add(const TaskInformation& info);
  bool add(const OpError& error);
  bool add(const ResultInfo& info);
  bool add_raw(std::uint8_t type_byte, std::uint16_t inline_value, std::span<const std::byte> data);

  [[nodiscard]] std::span<const std::byte> bytes() const { return buffer_.first(used_); }

 private:
  std::span<std::byte> buffer_;
  std::size_t used_ = 0;
};

std::optional<StartInfo> find_start_info(std::span<const std::byte> area);
std::optional<TaskInformation> find_task_information(std::span<const std::byte> area);
std::optional<OpError> find_op_error(std::span<const std::byte> area);
std::optional<ResultInfo> find_result_info(std::span<const std::byte> area);
// The rank that gets the result of a reduce, or of this chunk of a reduce_scatter.
std::optional<std::uint32_t> find_target_rank(std::span<const std::byte> area);
std::optional<std::uint64_t> find_nonce(std::span<const std::byte> area);
// 0: its sender names no run.
std::uint64_t find_run_id(std::span<const std::byte> area);
// Copies up to out.size() ids; returns how many the packet lists.
std::size_t find_missing_ids(std::span<const std::byte> area, std::span<std::uint32_t> out);

}  // namespace tributary::wire
