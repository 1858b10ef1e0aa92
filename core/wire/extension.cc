#include "core/wire/extension.h"

#include <algorithm>
#include <cstring>

namespace tributary::wire {
namespace {

struct Head {
  std::uint8_t type;
  std::uint8_t words;
  be16 inline_value;
};
static_assert(sizeof(Head) == 4);

struct StartInfoWire {
  be32 window, chunk_bytes, workers, lease_ms, group_ipv4;
  std::uint8_t shards, integrity;
  be16 udp_base_port;
  be32 completion_host, host_term;
  std::uint8_t partials, order, arithmetic, notify;
};
static_assert(sizeof(StartInfoWire) == 36);

struct TaskInformationWire {
  be64 total_elements;
  be32 workers, nodes;
};
static_assert(sizeof(TaskInformationWire) == 16);

struct OpDescriptionWire {
  be64 total_elements;
  be32 rank;
  be16 element_count;
  std::uint8_t dtype, reduce_op, collective, last;
  be16 target;
  be16 scale_exponent;
  std::uint8_t encoding;
  std::array<std::uint8_t, 1> reserved;
};
static_assert(sizeof(OpDescriptionWire) == 24);
struct OpErrorWire {
  OpDescriptionWire expected, got;
};

struct ResultInfoWire {
  be32 window, effective_from_seq, host_term;
  std::uint8_t seed_generation;
  std::array<std::uint8_t, 3> reserved;
};
static_assert(sizeof(ResultInfoWire) == 16);

template <typename Wire>
std::span<const std::byte> as_bytes(const Wire& w) {
  return std::as_bytes(std::span(&w, 1));
}

// Data of the first extension of `type`, if it has at least the size of Wire.
template <typename Wire>
std::optional<Wire> find_wire(std::span<const std::byte> area, ExtensionType type) {
  const auto ext = find_extension(area, type);
  if (!ext || ext->data.size() < sizeof(Wire)) return std::nullopt;
  Wire w;
  std::memcpy(&w, ext->data.data(), sizeof w);
  return w;
}

OpDescriptionWire encode(const OpDescription& d) {
  OpDescriptionWire w{};
  w.total_elements = d.total_elements;
  w.rank = d.rank;
  w.element_count = d.element_count;
  w.dtype = static_cast<std::uint8_t>(d.dtype);
  w.reduce_op = static_cast<std::uint8_t>(d.reduce_op);
  w.collective = static_cast<std::uint8_t>(d.collective);
  w.last = d.last ? 1 : 0;
  w.target = d.target;
  w.scale_exponent = static_cast<std::uint16_t>(d.scale_exponent);
  w.encoding = static_cast<std::uint8_t>(d.encoding);
  return w;
}

OpDescription decode(const OpDescriptionWire& w) {
  return {w.total_elements,
          w.rank,
          w.element_count,
          static_cast<DType>(w.dtype),
          static_cast<ReduceOp>(w.reduce_op),
          static_cast<Collective>(w.collective),
          w.last != 0,
          static_cast<Encoding>(w.encoding),
          static_cast<std::int16_t>(std::uint16_t{w.scale_exponent}),
          w.target};
}

constexpr std::uint8_t raw(ExtensionType t) {
  return static_cast<std::uint8_t>(t);
}
constexpr std::uint8_t critical(ExtensionType t) {
  return raw(t) | kCriticalBit;
}

}  // namespace

DropReason check_extensions(std::span<const std::byte> area) {
  while (!area.empty()) {
    if (area.size() < sizeof(Head)) return DropReason::bad_extension;
    Head head;
    std::memcpy(&head, area.data(), sizeof head);
    const std::size_t bytes = std::size_t{head.words} * 4;
    if (bytes < sizeof(Head) || bytes > area.size()) return DropReason::bad_extension;
    const std::uint8_t type = head.type & ~kCriticalBit;
    if ((head.type & kCriticalBit) != 0 && type > kExtensionTypeMax)
      return DropReason::critical_extension;
    area = area.subspan(bytes);
  }
  return DropReason::none;
}

std::optional<Extension> next_extension(std::span<const std::byte>& area) {
  if (area.size() < sizeof(Head)) return std::nullopt;
  Head head;
  std::memcpy(&head, area.data(), sizeof head);
  const std::size_t bytes = std::size_t{head.words} * 4;
  if (bytes < sizeof(Head) || bytes > area.size()) return std::nullopt;
  const Extension extension{static_cast<ExtensionType>(head.type & ~kCriticalBit),
                            (head.type & kCriticalBit) != 0, head.inline_value,
                            area.subspan(sizeof(Head), bytes - sizeof(Head))};
  area = area.subspan(bytes);
  return extension;
}

std::optional<Extension> find_extension(std::span<const std::byte> area, ExtensionType type) {
  while (const auto extension = next_extension(area))
    if (extension->type == type) return extension;
  return std::nullopt;
}

void write_padding_word(std::span<std::byte> four_bytes) {
  const Head head{raw(ExtensionType::padding), 1, be16(0)};
  std::memcpy(four_bytes.data(), &head, sizeof head);
}

bool ExtensionWriter::add_raw(std::uint8_t type_byte, std::uint16_t inline_value,
                              std::span<const std::byte> data) {
  const std::size_t bytes = sizeof(Head) + (data.size() + 3) / 4 * 4;
  if (bytes / 4 > 255 || used_ + bytes > buffer_.size()) return false;
  const Head head{type_byte, static_cast<std::uint8_t>(bytes / 4), be16(inline_value)};
  std::byte* at = buffer_.data() + used_;
  std::memset(at, 0, bytes);
  std::memcpy(at, &head, sizeof head);
  if (!data.empty()) std::memcpy(at + sizeof head, data.data(), data.size());
  used_ += bytes;
  return true;
}

bool ExtensionWriter::add_missing_ids(std::span<const std::uint32_t> ids) {
  if (ids.size() > kMaxMissingIds) return false;
  std::array<be32, kMaxMissingIds> wire;
  std::copy(ids.begin(), ids.end(), wire.begin());
  return add_raw(raw(ExtensionType::missing_ids), static_cast<std::uint16_t>(ids.size()),
                 std::as_bytes(std::span(wire.data(), ids.size())));
}

bool ExtensionWriter::add_nonce(std::uint64_t nonce) {
  const be64 w = nonce;
  return add_raw(critical(ExtensionType::nonce), 0, as_bytes(w));
}

bool ExtensionWriter::add_run_id(std::uint64_t run_id) {
  const be64 w = run_id;
  return add_raw(raw(ExtensionType::run_id), 0, as_bytes(w));
}

bool ExtensionWriter::add_crc32c_placeholder() {
  const be32 w = 0u;
  return add_raw(critical(ExtensionType::crc32c), 0, as_bytes(w));
}

bool ExtensionWriter::add_target_rank(std::uint32_t rank) {
  return add_raw(raw(ExtensionType::target_rank), 0, as_bytes(be32(rank)));
}

bool ExtensionWriter::add(const StartInfo& i) {
  const StartInfoWire w{i.window,   i.chunk_bytes, i.workers,       i.lease_ms,        i.group_ipv4,
                        i.shards,   i.integrity,   i.udp_base_port, i.completion_host, i.host_term,
                        i.partials, i.order,       i.arithmetic,    i.notify};
  const auto further_planes = static_cast<std::uint16_t>(i.planes - 1);
  return add_raw(critical(ExtensionType::start_info), further_planes, as_bytes(w));
}

bool ExtensionWriter::add(const TaskInformation& i) {
  const TaskInformationWire w{i.total_elements, i.workers, i.nodes};
  return add_raw(raw(ExtensionType::task_information), 0, as_bytes(w));
}

bool ExtensionWriter::add(const OpError& e) {
  const OpErrorWire w{encode(e.expected), encode(e.got)};
  return add_raw(raw(ExtensionType::error), 0, as_bytes(w));
}

bool ExtensionWriter::add(const ResultInfo& i) {
  const ResultInfoWire w{i.window, i.effective_from_seq, i.host_term, i.seed_generation, {}};
  return add_raw(critical(ExtensionType::result_info), 0, as_bytes(w));
}

std::optional<StartInfo> find_start_info(std::span<const std::byte> area) {
  const auto w = find_wire<StartInfoWire>(area, ExtensionType::start_info);
  if (!w) return std::nullopt;
  const std::uint32_t planes = find_extension(area, ExtensionType::start_info)->inline_value + 1u;
  return StartInfo{w->window,   w->chunk_bytes, w->workers,       w->lease_ms,        w->group_ipv4,
                   w->shards,   w->integrity,   w->udp_base_port, w->completion_host, w->host_term,
                   w->partials, w->order,       w->arithmetic,    w->notify,          planes};
}

std::optional<TaskInformation> find_task_information(std::span<const std::byte> area) {
  const auto w = find_wire<TaskInformationWire>(area, ExtensionType::task_information);
  if (!w) return std::nullopt;
  return TaskInformation{w->total_elements, w->workers, w->nodes};
}

std::optional<OpError> find_op_error(std::span<const std::byte> area) {
  const auto w = find_wire<OpErrorWire>(area, ExtensionType::error);
  if (!w) return std::nullopt;
  return OpError{decode(w->expected), decode(w->got)};
}

std::optional<ResultInfo> find_result_info(std::span<const std::byte> area) {
  const auto w = find_wire<ResultInfoWire>(area, ExtensionType::result_info);
  if (!w) return std::nullopt;
  return ResultInfo{w->window, w->effective_from_seq, w->host_term, w->seed_generation};
}

std::optional<std::uint32_t> find_target_rank(std::span<const std::byte> area) {
  const auto w = find_wire<be32>(area, ExtensionType::target_rank);
  if (!w) return std::nullopt;
  return std::uint32_t{*w};
}

std::optional<std::uint64_t> find_nonce(std::span<const std::byte> area) {
  const auto w = find_wire<be64>(area, ExtensionType::nonce);
  if (!w) return std::nullopt;
  return static_cast<std::uint64_t>(*w);
}

std::uint64_t find_run_id(std::span<const std::byte> area) {
  const auto w = find_wire<be64>(area, ExtensionType::run_id);
  return w ? static_cast<std::uint64_t>(*w) : 0;
}

std::size_t find_missing_ids(std::span<const std::byte> area, std::span<std::uint32_t> out) {
  const auto ext = find_extension(area, ExtensionType::missing_ids);
  if (!ext) return 0;
  const std::size_t listed = std::min<std::size_t>(ext->inline_value, ext->data.size() / 4);
  for (std::size_t i = 0; i < std::min(listed, out.size()); ++i) {
    be32 w;
    std::memcpy(&w, ext->data.data() + i * 4, sizeof w);
    out[i] = w;
  }
  return listed;
}

}  // namespace tributary::wire
