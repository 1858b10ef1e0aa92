// The completion engine: finishes what switches could not (protocol rules 5 to 7).
//
//   ESCALATION, forwarded CONTRIBUTION ─▶ on_packet ─▶ cover of the chunk ──exact──▶ RESULT
//   forwarded PROBE ────────────────────▶ on_packet ─▶ RESULT, PENDING, UNKNOWN
//   clock ──────────────────────────────▶ expire ────▶ ABORT(deadline, missing ids), or RESULT
//                                                      without those that are late (rule 21)
//
// One engine per job finishes all of its escalated chunks; one Engine object serves several jobs,
// each with its own memory. All messages go to the root switch, which keeps and multicasts RESULT,
// ends the epoch on ABORT, and passes PENDING and UNKNOWN to the rank in `origin`.
//
// The host has checked that a packet's sender is a member of the epoch and that its seq is in the
// window; the engine checks everything else. Pure: no clock, no I/O, no allocation after
// construction. One thread at a time calls it; other threads may read counters at any time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/chunk/outbox.h"
#include "completion/pieces/counters.h"
#include "completion/pieces/limits.h"
#include "core/drop_reason.h"
#include "core/time.h"
#include "core/wire/header.h"

namespace tributary::completion {

class Model;

enum class Verdict : std::uint8_t {
  held,           // a piece joined the cover
  completed,      // it was the last piece: the RESULT is in the outbox
  answered,       // RESULT, PENDING or UNKNOWN to a probe; ABORT to a piece of an aborted epoch
  noted,          // a mark or an acknowledgement
  epoch_aborted,  // ABORT is in the outbox
  dropped,        // with a DropReason
};
struct Decision {
  Verdict verdict;
  DropReason reason = DropReason::none;
};

// For `show`: one chunk that waits for pieces.
struct ChunkStatus {
  std::uint32_t job = 0;
  std::uint8_t plane = 0;
  std::uint8_t shard = 0;
  std::uint32_t op = 0;
  std::uint32_t chunk = 0;
  std::uint32_t seq = 0;
  wire::Reason reason = wire::Reason::none;
  std::uint32_t covered = 0;
  std::uint32_t required = 0;
  std::uint32_t pieces = 0;
  Duration open_for;
  std::vector<std::uint32_t> missing;  // ranks, at most 16
};

class Engine {
 public:
  // Throws std::invalid_argument for invalid limits.
  explicit Engine(std::span<const JobLimits> jobs);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Begin and end epochs of a job; both ignore jobs that the engine does not have. `host_term`
  // tells this host's answers from those of an earlier one. `retries`: the root lets overflowed
  // sums be sent again as floats, if this engine does. `may_degrade`: the root accepts results that
  // lack ranks, if this engine makes some. `workers`: the ranks of the epoch, where the job may be
  // resized; at most as many as its limits say.
  void start_epoch(std::uint32_t job, std::uint16_t epoch, std::uint32_t first_seq,
                   std::uint32_t host_term, bool retries = true, bool may_degrade = true,
                   std::optional<std::uint32_t> workers = {});
  void end_epoch(std::uint32_t job);  // aborted, or all ranks have left
  // True if the engine waits for pieces of this chunk, which the root has given up.
  [[nodiscard]] bool is_open(const wire::Header& chunk) const;
  // The epoch that began last; 0 before the first, and for unknown jobs.
  [[nodiscard]] std::uint16_t epoch_of(std::uint32_t job) const;

  // Sets the model of a job; it outlives this object (T21). Without one, any op on an array ends
  // the epoch.
  void set_model(std::uint32_t job, Model& model);

  // Payload spans of messages appended to `out` are valid until the next call of any method.
  Decision on_packet(const wire::Packet& packet, Instant now, aggregator::Outbox& out);
  // Ends chunks past their deadline, or that have waited long enough. Cheap if there are none.
  void expire(Instant now, aggregator::Outbox& out);
  // The root keeps this result now, so the engine need not.
  void result_accepted(std::uint32_t job, std::uint8_t shard, std::uint32_t seq);
  // The root keeps all results of the shard before this seq: their chunks are over.
  void accepted_before(std::uint32_t job, std::uint8_t shard, std::uint32_t seq);

  // Changes the jobs: those with the same limits go on, the others are exchanged. prepare() runs on
  // a control thread while packets are handled; the change must be destroyed there after apply().
  struct Change;
  [[nodiscard]] std::shared_ptr<Change> prepare(std::span<const JobLimits> next) const;
  void apply(Change& change);

  // The most messages that one call can append.
  [[nodiscard]] std::size_t outbox_capacity() const;
  [[nodiscard]] static std::size_t outbox_capacity(std::span<const JobLimits> jobs);
  [[nodiscard]] std::size_t job_count() const;
  [[nodiscard]] const JobLimits& limits(std::size_t index) const;
  [[nodiscard]] const JobCounters& counters(std::size_t index) const;
  [[nodiscard]] std::uint64_t memory_bytes() const;
  [[nodiscard]] std::vector<ChunkStatus> status(Instant now, std::size_t most) const;

 protected:  // tests break what no packet can
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tributary::completion
