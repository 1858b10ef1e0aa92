#include "aggregator/chunk_look.h"

#include "aggregator/engine_impl.h"

namespace tributary::aggregator {
namespace {

// The others carry a number there that means something else, or nothing.
bool names_chunk(wire::PacketType type) {
  using enum wire::PacketType;
  switch (type) {
    case contribution:
    case aggregate:
    case escalation:
    case probe:
    case result:
    case pending:
    case unknown: return true;
    default: return false;
  }
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::opened: return "opened";
    case Verdict::folded: return "folded";
    case Verdict::completed: return "completed";
    case Verdict::answered: return "answered";
    case Verdict::noted: return "noted";
    case Verdict::epoch_aborted: return "epoch-aborted";
    case Verdict::refused: return "refused";
    case Verdict::dropped: return "dropped";
    case Verdict::forwarded: return "forwarded";
    case Verdict::sent_up: return "sent-up";
  }
  return "?";
}

const char* name_of(ChunkState state) {
  switch (state) {
    case ChunkState::unseen: return "unseen";
    case ChunkState::open: return "open";
    case ChunkState::complete: return "complete";
    case ChunkState::released: return "released";
    case ChunkState::sent: return "sent";
    case ChunkState::escalated: return "escalated";
  }
  return "?";
}

ChunkLook Shard::look(const wire::Header& h) const {
  const ShardJob* const job = by_id_.find(h.job);
  if (job == nullptr || !job->running || h.epoch != job->epoch || h.plane != job->plane) return {};
  ChunkLook look{.known = true, .fan_in = static_cast<std::uint16_t>(job->fan_in)};
  look.state = job->table.state_of(h.seq);
  if (look.state == ChunkState::unseen) return look;
  const Tombstone& e = job->table.entry_for(h.seq);
  look.arrived = e.arrived;
  look.children = job->table.arrived(e).front();
  if (e.holds_slot) look.slot = slot_of(*job, e);
  return look;
}

ChunkLook Engine::look(const wire::Header& h) const {
  const Shard* const shard = impl_->shard_at(h.shard);
  if (h.stream != 0 || !names_chunk(h.type) || shard == nullptr) return {};
  return shard->look(h);
}

}  // namespace tributary::aggregator
