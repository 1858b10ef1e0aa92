// One job in one shard: its members, its chunks, how its sums are made and where its buffers are.
// Internal to Shard, which alone changes it; other code reads counters and table.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "aggregator/chunk/bracketing.h"
#include "aggregator/chunk/buffer_pool.h"
#include "aggregator/chunk/child_map.h"
#include "aggregator/chunk/chunk_deadlines.h"
#include "aggregator/chunk/chunk_table.h"
#include "aggregator/chunk/counters.h"
#include "aggregator/chunk/outbox.h"
#include "aggregator/chunk/reserve.h"
#include "aggregator/chunk/result_cache.h"
#include "aggregator/kernels/kernel_table.h"
#include "aggregator/shard/degraded_results.h"
#include "aggregator/shard/op_history.h"
#include "config/model/switch_config.h"
#include "config/plan/aggregation_memory.h"
#include "core/exclusion.h"
#include "core/wire/attempt.h"
#include "core/wire/rank_bitmap.h"

namespace tributary::aggregator {

// Children whose data comes in the accumulator's type: switches, unless partials are narrow.
inline std::vector<bool> wide_children(const ChildMap& map, const config::JobConfig& job) {
  std::vector<bool> wide(map.count());
  for (std::uint32_t child = 0; child < map.count(); ++child)
    wide[child] = map[child].is_switch && job.partials == wire::Partials::wide;
  return wide;
}

// One writer, the shard's owner; the engine's thread reads it, and may be another thread.
template <typename T>
class Shared {
 public:
  Shared& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator T() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_{};
};

// A member as the data path sees it. One cache line: it is read and written for every packet.
struct alignas(64) Child {
  Endpoint peer;
  bool present = false;
  Shared<bool> heard;        // since the epoch began
  std::uint16_t worker = 0;  // its rank + 1; 0: it is a switch
  Shared<Instant> last_heard;
  Exclusion excluded;

  // True if data with this origin is the worker's own.
  [[nodiscard]] bool is_worker(std::uint32_t origin) const {
    return worker == std::uint64_t{origin} + 1;
  }
  void enter(const Endpoint& from, Instant now) {
    peer = from;
    present = true;
    heard = false;
    last_heard = now;
    excluded = {};
  }
};
static_assert(sizeof(Child) + sizeof(ChildTotals) == config::kChildBytes);
static_assert(config::kMaxWorkers <= 0xFFFF, "fits Child::worker");
static_assert(sizeof(ChunkEntry) == config::kChunkEntryBytes);
static_assert(sizeof(ResultCache::Entry) == config::kCacheEntryBytes);

// Buffers of one size, and the acknowledged results in the spare ones.
struct BufferClass {
  BufferPool buffers;
  ResultCache cache;

  [[nodiscard]] std::size_t table_bytes() const {
    return config::kBufferClassBytes + buffers.table_bytes() + cache.table_bytes();
  }
};
static_assert(sizeof(BufferClass) == config::kBufferClassBytes);
// Buffers of one job that came with a change of configuration, in reserved memory.
struct OwnBuffers {
  Reserve::Piece memory;
  BufferClass buffers;
};

// The last question to the parent about a chunk whose result the parent makes.
struct AskedAbove {
  std::uint32_t seq = 0;
  bool pending = false;  // the parent has answered that it waits, too
  Instant at;
};
static_assert(sizeof(AskedAbove) == config::kAskedBytes);

// The kind of plain data, as its header gives it. What follows from the kind alone is computed
// once, because the next packet is mostly of the same kind.
struct PlainKind {
  std::uint64_t kind = 0;         // kind() of the wire::Header
  std::uint64_t scope = 0;        // scope() of it
  std::uint64_t description = 0;  // ChunkDescription's third word, of a chunk that is not the last
  const Kernels* kernels = nullptr;  // nullptr: such data does not take the short way
  bool opens = false;                // such data may open a chunk on the short way

  [[nodiscard]] bool is_of(const wire::Header& h) const {
    return ((h.kind() ^ kind) | (h.scope() ^ scope)) == 0;
  }
};

// The job's quota of dynamic slots; 0: it takes no part in them in this shard.
inline std::uint32_t pool_quota(const config::JobConfig& job, std::uint8_t shard) {
  if (job.slots != config::SlotMode::dynamic || shard >= job.shards) return 0;
  return job.quota == 0 ? job.window : job.quota;
}
struct alignas(64) ShardJob {
  ShardJob(const config::JobConfig& job_config, std::uint32_t job_place, std::uint32_t slot,
           BufferClass& sums, BufferClass* holds, const KernelTable& table_of_kernels)
      : plane(job_config.plane),
        waits_for_order(config::holds_data(job_config)),
        dynamic(job_config.slots == config::SlotMode::dynamic),
        shards(job_config.shards),
        fan_in(config::job_fan_in(job_config)),
        buffers(sums.buffers),
        children(fan_in),
        child_map(job_config),
        entries(std::size_t{2} * job_config.window),
        table(entries, fan_in, job_config.window),
        deadlines(job_config.deadline, entries),
        config(job_config),
        place(job_place),
        first_slot(slot),
        kernels(table_of_kernels),
        admitted(config),
        order(config::declared_order(config), wide_children(child_map, config)),
        degraded(config::degrades(config) ? entries.size() : 0, config.workers),
        cache(sums.cache),
        hold_buffers(holds == nullptr ? nullptr : &holds->buffers),
        held(waits_for_order ? std::size_t{config.window} * fan_in : 0, kNone),
        history(fan_in, config::degrades(config) ? wire::rank_words(config.workers) : 0,
                child_map.has_switches() ? wire::rank_words(config.workers) : 0),
        totals(fan_in) {
    awaited_above.reserve(wire::kMaxMissingIds);
    if (config.parent) asked_above.resize(config.window);
    for (std::uint32_t child = 0; child < fan_in; ++child)
      if (const ChildMap::Child& c = child_map[child]; !c.is_switch)
        children[child].worker = static_cast<std::uint16_t>(c.id + 1);
  }

  // The fields that a worker's plain data touches (shard_plain.cc), in as few cache lines as
  // possible: with many jobs they are not in a near cache.
  std::uint16_t epoch = 0;
  const std::uint8_t plane;     // of the job; packets of other planes are not for it
  const bool waits_for_order;   // contributions are combined in declared order
  bool has_exclusions = false;  // has some, or had some in this epoch
  bool marked = false;          // a mark that came without data: goes with the next chunk (rule 15)
  bool running = false;
  bool broken = false;  // an invariant broke: the epoch must end, no more sums are sent
  const bool dynamic;   // it has dynamic slots
  const std::uint8_t shards;
  std::uint32_t fan_in;       // changes between two epochs, where the job may be resized
  std::uint32_t next_op = 0;  // the op after all those with a chunk that was opened here
  PlainKind plain;            // kind of the last plain data
  BufferPool& buffers;
  std::vector<Child> children;
  ChildMap child_map;
  std::vector<ChunkEntry> entries;
  ChunkTable table;
  ChunkDeadlines deadlines;
  ShardCounters counters;

  const config::JobConfig config;
  const std::uint32_t place;       // in the configuration
  const std::uint32_t first_slot;  // of the job's static partition (O7)
  const KernelTable& kernels;
  const AdmittedReductions admitted;
  const Bracketing order;
  std::uint32_t host_term = 0;  // of the completion host whose results are taken; 0: in this switch
  std::uint8_t seed = 0;        // of the slot hash, for seqs before seed_from
  std::uint8_t next_seed = 0;   // from seed_from on
  std::uint32_t seed_from = 0;
  // Ranks that left hold all results of the ops before it: those chunks need no more of them.
  std::uint32_t left_at_op = kNobodyLeft;
  static constexpr std::uint32_t kNobodyLeft = kNoOp;
  Instant recalled_at;          // when the host was asked for a result that some child holds
  std::uint32_t sent_held = 0;  // slots whose sum went up and is kept until the result returns
  // For a job that has a parent:
  Shared<Instant> parent_heard;
  std::vector<AskedAbove> asked_above;       // by slot of the window
  Instant said_held_at;                      // besides probes
  std::uint32_t acknowledged_up = 0;         // to the parent: all results before this seq
  std::vector<std::uint32_t> awaited_above;  // the ranks that the parent waits for
  DegradedResults degraded;                  // lists of the complete degraded results
  // nullptr: the job shares its buffers with other jobs of the shard.
  std::unique_ptr<OwnBuffers> own_sums;
  std::unique_ptr<OwnBuffers> own_holds;
  ResultCache& cache;
  BufferPool* hold_buffers;         // nullptr: no data is ever held, e.g. with only one child
  std::vector<std::uint32_t> held;  // buffer by slot of the window and position in the order
  OpHistory history;
  std::vector<ChildTotals> totals;  // of each child

  // Before an epoch begins.
  void resize(std::uint32_t children_now) {
    if (children_now == fan_in) return;
    fan_in = children_now;
    child_map.resize(children_now);
    table.resize(children_now);
  }
  // The ranks that a sum is made of.
  [[nodiscard]] std::uint32_t workers() const { return child_map.workers(); }
  // True if this child's data is not for the sums of that op (rule 14).
  [[nodiscard]] bool excludes(std::uint16_t child, std::uint32_t op) const {
    return children[child].excluded.covers(op);
  }
  [[nodiscard]] bool awaits(const ChunkEntry& e, std::uint16_t child) const {
    return !table.has_contributed(e, child) && !(e.bypassed && excludes(child, e.description.op));
  }
  // Note an arrival: data of a new chunk; data of a chunk that was seen, in any state; and the
  // first data of a child for an open chunk.
  KeptAs note_first(const ChunkDescription& d, std::uint16_t child, Instant now) {
    const KeptAs as = OpHistory::kept_as(d, shards);
    if (as == KeptAs::nothing) return as;
    if (history.passes_over(d, now)) return KeptAs::passed_over;
    return history.arrived(d, as, child, now, totals[child]);
  }
  void note_again(const ChunkEntry& e, const ChunkDescription& d, std::uint16_t child,
                  Instant now) {
    const KeptAs as = OpHistory::kept_as(d, shards);
    if (as != KeptAs::nothing && e.kept != KeptAs::passed_over)
      history.arrived(d, as, child, now, totals[child]);
  }
  void note_further(const ChunkEntry& e, std::uint16_t child, Instant now) {
    if (e.kept == KeptAs::first || e.kept == KeptAs::last)
      history.arrived_further(e.description, e.kept, child, now, totals[child]);
  }
  // Data of a chunk that was given up.
  void note_late(const ChunkEntry& e, std::uint16_t child, Instant now) {
    history.came_late(e.description, child, now - e.opened_at - deadlines.timeout());
  }
  // True if a fixed-point sum that overflowed is asked for again as floating point (rule 12).
  [[nodiscard]] bool retries_floats(const ChunkDescription& d) const {
    return d.encoding == wire::Encoding::block_scaled && config::retries_floats(config);
  }
  // The kernels for such data, given by description or header; nullptr if it is not combined. Data
  // that is passed on also has a type and an operation, and so has its agreement.
  [[nodiscard]] const Kernels* kernels_of(const auto& of) const {
    return wire::moves_data(of.collective) ? nullptr : kernels.find(of.dtype, of.reduce_op);
  }
  [[nodiscard]] bool admits(const ChunkDescription& d) const {
    return admitted.contains(d.dtype, d.reduce_op) || concerns_whole_model(d);
  }
  // False where a bracket must be combined as a whole, or the job collects first.
  [[nodiscard]] bool folds_prefix() const {
    return order.flat() && config.trigger == config::Trigger::streaming;
  }
  [[nodiscard]] std::uint32_t& held_at(const ChunkEntry& e, std::uint16_t position) {
    return held[std::size_t{table.slot_of(e)} * fan_in + position];
  }
  [[nodiscard]] wire::Header header(wire::PacketType type) const {
    wire::Header h;
    h.type = type;
    h.job = config.id;
    h.epoch = epoch;
    h.fan_in = static_cast<std::uint16_t>(fan_in);
    h.plane = plane;
    return h;
  }
  [[nodiscard]] std::span<const std::byte> payload(const ChunkEntry& e) const {
    if (e.buffer == kNone) return {};
    return {buffers.at(e.buffer), e.description.payload_bytes()};
  }
  void count_escalation(wire::Reason reason) {
    counters.escalations[static_cast<std::size_t>(reason)].add();
  }
  // An event of normal operation.
  void note(const ChunkEntry& e, OpEventKind kind, Instant now) {
    if (e.kept != KeptAs::passed_over) history.note(e.description, kind, now);
  }
  // An event that goes wrong.
  void note_trouble(ChunkEntry& e, OpEventKind kind, Instant now) {
    if (e.kept == KeptAs::passed_over) e.kept = KeptAs::nothing;
    history.note_trouble(e.description, kind, e.opened_at, now);
  }
  // The chunk goes, or went, to the completion host.
  void note_escalation(ChunkEntry& e, wire::Reason reason, Instant now) {
    count_escalation(reason);
    note_trouble(e, escalated_for(reason), now);
  }
  void refresh_gauges() {
    counters.slots_open.set(table.open() + sent_held);
    counters.slots_high_water.raise_to(table.open() + sent_held);
    counters.results_retained.set(table.retained());
  }
  // Bytes of the job itself and of all it points to.
  [[nodiscard]] std::size_t table_bytes() const {
    std::size_t bytes = config::kShardJobBytes + config::copy_bytes(config);
    bytes += child_map.table_bytes() + table.table_bytes() + order.table_bytes();
    bytes += history.table_bytes() + degraded.table_bytes();
    bytes += children.capacity() * (sizeof(Child) + sizeof(ChildTotals));
    bytes += asked_above.capacity() * sizeof(AskedAbove);
    bytes += (held.capacity() + awaited_above.capacity()) * sizeof(std::uint32_t);
    for (const OwnBuffers* const own : {own_sums.get(), own_holds.get()})
      if (own != nullptr) bytes += sizeof(own->memory) + own->buffers.table_bytes();
    return bytes;
  }
};
static_assert(sizeof(ShardJob) <= config::kShardJobBytes);

}  // namespace tributary::aggregator
