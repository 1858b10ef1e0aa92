// The packets of several jobs' workers to one switch engine, and the answers: the load of suite
// `engine`.
//
// Every chunk of every job's window is open at once: all chunks get their first contribution
// before any gets its second, so that as many slots are live as the load has chunks. Packets lie
// in a pool of receive buffers that is reused in order. Making a packet and checking a result are
// not part of what is measured: next_batch() and check() do both in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "aggregator/engine/engine.h"
#include "bench/harness.h"

namespace tributary::bench {

struct EngineLoad {
  std::uint32_t jobs = 8;
  std::uint32_t fan_in = 8;
  std::uint8_t shards = 1;
  std::uint32_t window = 512;  // chunks of each job and shard, all live
  std::uint32_t payload = 1024;
  bool input_from_memory = true;  // else receive buffers that the last-level cache holds
  Duration deadline = Duration::seconds(30);
  bool one_op = true;  // all live chunks of a job are one op's; else an op has one chunk

  [[nodiscard]] std::uint32_t slots() const { return jobs * shards * window; }
};

class EngineTraffic {
 public:
  // Packets made at a time. Many, because reading the clock of a thread is a system call.
  static constexpr std::size_t kBatch = 256;

  // One received packet, and the slot that its sender means, counted over all jobs.
  struct Received {
    std::span<const std::byte> bytes;
    const Endpoint* from = nullptr;
    std::uint32_t slot = 0;
    bool first = false;  // of its chunk
    bool last = false;
  };

  explicit EngineTraffic(const EngineLoad& load);

  // All chunks of the next window, from their first contributions on.
  void begin_round();
  // From the next round on; where an op has one chunk. Only the first chunk of an op has a
  // time-line.
  void number_chunks_from(std::uint32_t first) { first_chunk_ = first; }
  // Makes the next packets of the round; empty at its end.
  std::span<const Received> next_batch();
  // Takes note of what the engine said and clears the outbox, as a switch would by sending it.
  void note(aggregator::Outbox& out) {
    for (const aggregator::Outgoing& o : out.items())
      if (noted_count_ < noted_.size())
        noted_[noted_count_++] = {o.header.type, o.header.job, o.header.shard,
                                  o.header.seq,  o.to,         o.payload};
    out.clear();
  }
  // Checks what was noted since the last batch, element by element: the engine keeps results until
  // all ranks have acknowledged them, so their payload is still there.
  void check();
  // These are the sum of all that this round sends, or has sent, to a slot.
  [[nodiscard]] bool is_sum(std::uint32_t slot, std::span<const std::byte> bytes) const;
  // True when every chunk of the round gave one right result, and nothing else was said.
  [[nodiscard]] bool round_was_right() const;

  [[nodiscard]] const EngineLoad& load() const { return load_; }
  [[nodiscard]] aggregator::Engine& engine() { return *engine_; }
  [[nodiscard]] aggregator::Outbox& outbox() { return *outbox_; }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] std::size_t packets_per_round() const {
    return std::size_t{load_.slots()} * load_.fan_in;
  }

 private:
  struct Noted {
    wire::PacketType type = wire::PacketType::result;
    std::uint32_t job = 0;
    std::uint8_t shard = 0;
    std::uint32_t seq = 0;
    aggregator::Outgoing::To to = aggregator::Outgoing::To::peer;
    std::span<const std::byte> payload;
  };

  [[nodiscard]] bool is_right(const Noted& n) const;
  void join_all();
  void write_header(std::byte* at, std::uint32_t job, std::uint8_t shard, std::uint32_t seq) const;

  EngineLoad load_;
  Buffer engine_memory_;  // on huge pages, as the bare sides' slots are
  std::unique_ptr<aggregator::Engine> engine_;
  std::unique_ptr<aggregator::Outbox> outbox_;
  std::vector<std::uint16_t> epochs_;
  std::vector<Endpoint> peers_;  // by job and rank
  Instant now_ = Instant::from_ns(1'000'000'000);

  std::size_t stride_;
  std::size_t buffers_;
  Buffer pool_;
  std::array<Received, kBatch> batch_;
  std::array<Noted, 2 * kBatch> noted_;
  std::size_t noted_count_ = 0;

  // Where the round is: child-major, then seq, shard and job.
  std::uint32_t base_seq_ = 0;
  bool first_round_ = true;
  std::uint32_t first_chunk_ = 0;
  std::uint32_t child_ = 0;
  std::uint32_t place_ = 0;  // among the load's chunks
  std::size_t next_buffer_ = 0;

  std::vector<std::uint32_t> base_sums_;  // by slot: what the first element of the sum must be
  std::uint32_t results_ = 0;
  bool right_ = true;
};

}  // namespace tributary::bench
