// One job in one shard: who may send, its chunks, and where its payload goes. Internal to Shard,
// which alone changes it; others read counters and table.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregator/buffer_pool.h"
#include "aggregator/chunk_deadlines.h"
#include "aggregator/chunk_table.h"
#include "aggregator/counters.h"
#include "aggregator/outbox.h"
#include "config/switch_config.h"

namespace tributary::aggregator {

// A member as the data path sees it. One cache line: it is read and written with every packet.
struct alignas(64) Child {
  Peer peer;
  bool present = false;
  bool heard = false;  // since the epoch began
  Instant last_heard;
};

struct ShardJob {
  ShardJob(const config::JobConfig& job_config, std::uint32_t job_place, std::uint32_t slot,
           std::span<Tombstone> entries, BufferPool& pool, ChunkDeadlines& queue)
      : config(job_config),
        place(job_place),
        first_slot(slot),
        children(config.workers),
        table(entries, config.workers, config.window),
        buffers(pool),
        deadlines(queue) {}

  const config::JobConfig config;
  const std::uint32_t place;       // in the configuration
  const std::uint32_t first_slot;  // of the job's static partition (O7)
  std::uint16_t epoch = 0;
  bool running = false;
  std::vector<Child> children;
  ChunkTable table;
  BufferPool& buffers;
  ChunkDeadlines& deadlines;
  ShardCounters counters;

  [[nodiscard]] wire::Header header(wire::PacketType type) const {
    wire::Header h;
    h.type = type;
    h.job = config.id;
    h.epoch = epoch;
    h.fan_in = static_cast<std::uint16_t>(config.workers);
    return h;
  }
  [[nodiscard]] std::span<const std::byte> payload(const Tombstone& e) const {
    if (e.buffer == kNone) return {};
    return {buffers.at(e.buffer), e.description.payload_bytes()};
  }
  void refresh_gauges() {
    counters.slots_open.set(table.open());
    counters.slots_high_water.raise_to(table.open());
    counters.results_retained.set(table.retained());
  }
};

}  // namespace tributary::aggregator
