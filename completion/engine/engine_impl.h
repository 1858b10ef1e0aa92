// The completion engine's internals, shared by its source files: pieces (engine_pieces.cc), chunks
// that wait too long (engine_degrade.cc), replies (engine_replies.cc), and construction, checks and
// clock (engine.cc).
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "completion/engine/engine.h"
#include "completion/engine/job.h"

namespace tributary::completion {

using aggregator::Outbox;
using aggregator::Outgoing;

// One piece that has arrived; its ranks are in Job::ranks.
struct Arrival {
  const wire::Packet& packet;
  aggregator::ChunkDescription description;
  const aggregator::Kernels* kernels = nullptr;
  bool aggregate = false;
  bool wide = false;  // the payload is in accumulator type
  wire::Reason reason = wire::Reason::none;
};

struct Engine::Impl {
  explicit Impl(std::span<const JobLimits> limits);
  Job* find_job(std::uint32_t id);
  Decision dispatch(Job& job, const wire::Packet& packet, Instant now, Outbox& out);
  Decision on_ack(Job& job, const wire::Header& header);

  // engine_pieces.cc
  Decision on_piece(Job& job, const wire::Packet& packet, Instant now, Outbox& out);
  Decision on_mark(Job& job, const wire::Packet& packet, Instant now);
  Decision add(Job& job, Chunk& chunk, const Arrival& arrival, Instant now, Outbox& out);
  void complete(Job& job, Chunk& chunk, Instant now, Outbox& out);

  // engine_retry.cc
  void retry_as_float(Job& job, Chunk& chunk, Instant now, Outbox& out);

  // engine_degrade.cc
  void degrade_waiting(Job& job, Instant now, std::size_t end, Outbox& out);

  // engine_replies.cc
  Decision on_probe(Job& job, const wire::Packet& packet, Outbox& out);
  Decision repeat_abort(Job& job, Outbox& out);
  void send_result(Job& job, const Chunk& chunk, Outbox& out);
  void ask_again(Job& job, const Chunk& chunk, ConstRankSet ranks, Outbox& out);
  Decision abort_mismatch(Job& job, const Chunk& chunk, const Arrival& got, Outbox& out);
  void abort_overdue(Job& job, const Chunk& chunk, Outbox& out);
  void abort_model(Job& job, const Chunk& chunk, wire::Reason reason, Outbox& out);
  Decision abort_broken(Job& job, Outbox& out);

  std::vector<std::unique_ptr<Job>> jobs;
  std::unordered_map<std::uint32_t, Job*> by_id;
};

}  // namespace tributary::completion
