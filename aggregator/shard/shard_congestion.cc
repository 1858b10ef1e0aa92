// Marks of congestion (rule 15): their sources, and the messages that carry them on.
//
//   data that met a queue ─┐                        ┌─▶ AGGREGATE, ESCALATION ─▶ above
//   slots are scarce ──────┼─▶ its chunk (sticky) ──┤
//   a mark without data ───┘   (the next one)       └─▶ RESULT ─▶ all ranks, the same
//
// The node that makes a chunk's result decides, once; a result that is passed on, or sent again,
// keeps its mark.
#include "aggregator/shard/shard.h"

namespace tributary::aggregator {

// Smaller windows of the jobs that hold slots are the cure (rule 15). A job without slots would
// only be slower, as its chunks go to the completion host anyway.
void Shard::mark_for_slots(ShardJob& job, ChunkEntry& e) {
  e.congested = true;
  job.counters.slot_marks.add();
}

// Adds the mark of a queue met on the way here (rule 15), or a mark that waits for a message to
// carry it.
std::uint32_t Shard::carried_flags(ShardJob& job, const wire::Packet& packet) {
  const std::uint32_t others = packet.header.flags & ~std::uint32_t{wire::kFlagCe};
  const bool tells = packet.header.type != wire::PacketType::probe;
  if (!tells || (others & wire::kFlagResend) != 0) return others;
  const bool marked = wire::is_marked(packet) || job.marked;
  job.marked = false;
  return others | (marked ? std::uint32_t{wire::kFlagCe} : 0u);
}

// All ranks must get the same mark for a chunk (rule 15), so the node that made the result has
// decided. A mark that the result got on its way here is known to this switch alone: it goes up
// with later data, and comes back to all ranks.
void Shard::take_mark(ShardJob& job, ChunkEntry& e, const wire::Packet& result) {
  e.congested = (result.header.flags & wire::kFlagCe) != 0;
  if (result.congestion_experienced) job.marked = true;
}

}  // namespace tributary::aggregator
