// Marks of congestion (rule 15): where they come from, and what they go on with.
//
//   data that met a queue ─┐                        ┌─▶ AGGREGATE, ESCALATION ─▶ above
//   slots are scarce ──────┼─▶ its chunk (sticky) ──┤
//   a mark without data ───┘   (the next one)       └─▶ RESULT ─▶ all ranks, the same
//
// Whoever makes a chunk's result decides, once; a result that is passed on, or sent again, says
// what it said before.
#include "aggregator/shard/shard.h"

namespace tributary::aggregator {

// Smaller windows of those that share the slots are the cure (rule 15), of those that have some:
// who has none would only be slower, as its chunks take nothing but the way to the completion host.
void Shard::mark_for_slots(ShardJob& job, ChunkEntry& e) {
  e.congested = true;
  job.counters.slot_marks.add();
}

// With the mark of what it met on its way here (rule 15), or one that waits for something to go
// with.
std::uint32_t Shard::carried_flags(ShardJob& job, const wire::Packet& packet) {
  const std::uint32_t others = packet.header.flags & ~std::uint32_t{wire::kFlagCe};
  const bool tells = packet.header.type != wire::PacketType::probe;
  if (!tells || (others & wire::kFlagResend) != 0) return others;
  const bool marked = wire::is_marked(packet) || job.marked;
  job.marked = false;
  return others | (marked ? std::uint32_t{wire::kFlagCe} : 0u);
}

// All ranks must be told the same of a chunk (rule 15), so whoever has made the result has decided.
// A mark that it met on its way here is of this switch alone: that goes up with something later,
// and comes back to everybody.
void Shard::take_mark(ShardJob& job, ChunkEntry& e, const wire::Packet& result) {
  e.congested = (result.header.flags & wire::kFlagCe) != 0;
  if (result.congestion_experienced) job.marked = true;
}

}  // namespace tributary::aggregator
