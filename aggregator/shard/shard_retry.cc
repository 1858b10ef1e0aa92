// Chunks whose fixed-point sum overflowed, and that workers send again as floating point (rule 12,
// O10). Data of such an attempt is not summed here: it goes to the completion host via the switches
// above. Each switch on that way learns of the attempt before the ranks below it do.
#include "aggregator/shard/shard.h"

namespace tributary::aggregator {
namespace {

DropReason check(const ShardJob& job, const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  if (h.attempt != wire::kFloatRetry || (h.flags & wire::kFlagFloatRetry) == 0)
    return DropReason::stale_epoch;
  if (h.fan_in != job.fan_in) return DropReason::bad_fan_in;
  if (h.type != wire::PacketType::contribution) return DropReason::bad_type;
  if (h.dtype != wire::DType::float32) return DropReason::bad_dtype;
  if (h.encoding != wire::Encoding::plain) return DropReason::bad_encoding;
  if (packet.payload.size() != h.element_count * wire::size_of(h.dtype))
    return DropReason::bad_payload_length;
  return DropReason::none;
}

}  // namespace

Decision Shard::on_retry(ShardJob& job, const wire::Packet& packet, const Endpoint& from,
                         Outbox& out) {
  const wire::Header& h = packet.header;
  if (const DropReason bad = check(job, packet); bad != DropReason::none)
    return {Verdict::dropped, bad};
  ChunkEntry* e = nullptr;
  const bool seen = job.table.find(h.seq, e) == ChunkTable::Place::seen;
  if (!seen || !e->retried || e->description.op != h.op || e->description.chunk != h.chunk)
    return {Verdict::dropped, DropReason::stale_seq};
  // Known only by an announcement: the first attempt's description never came here, and never will.
  if (!e->described) {
    const Contribution c = contribution_of(packet);
    const Kernels* kernels = nullptr;
    if (const DropReason bad = check_data(job, c, false, kernels); bad != DropReason::none)
      return {Verdict::dropped, bad};
    e->describe(c);
  }
  if (e->description.element_count != h.element_count)
    return {Verdict::dropped, DropReason::stale_seq};
  job.counters.bytes_in.add(packet.payload.size());
  if (e->state == ChunkState::escalated) {
    forward(job, packet, wire::kFlagAtPs, out);
    return {Verdict::forwarded};
  }
  if (e->state == ChunkState::complete && job.degraded.counted(e->seq) != 0)
    return answer_late(job, *e, from, out);
  job.counters.duplicates.add();
  if (e->state != ChunkState::complete || (h.flags & wire::kFlagResend) == 0)
    return {Verdict::dropped, DropReason::duplicate};
  send_result(job, *e, from, out);
  return {Verdict::answered};
}

// The host asks for the chunk again: from now on only that attempt counts. Returns false if the
// request is for another chunk than the one here.
bool Shard::begin_retry(const wire::Packet& request, Instant now) {
  const wire::Header& h = request.header;
  ShardJob* const job = by_id_.find(h.job);
  ChunkEntry* e = nullptr;
  if (h.attempt != wire::kFloatRetry || job == nullptr || !job->running || h.epoch != job->epoch)
    return false;
  if (job->table.find(h.seq, e) != ChunkTable::Place::seen) return false;
  if (e->description.op != h.op || e->description.chunk != h.chunk) return false;
  if (e->retried) return e->state == ChunkState::escalated;
  if (!job->retries_floats(e->description)) return false;
  if (e->state != ChunkState::escalated && e->state != ChunkState::sent) return false;
  // The sum went to be verified, and only its result was missing.
  if (e->state == ChunkState::sent) {
    free_slot(*job, *e, now);
    sums_.release(*job, *e);
    job->table.escalate(*e);
  }
  e->retried = true;
  job->note_trouble(*e, OpEventKind::float_retry, now);
  e->overflow = false;
  job->refresh_gauges();
  return true;
}

}  // namespace tributary::aggregator
