// Asks the switch about chunks whose results are overdue (rule 6); flights.h selects them.
#include <array>

#include "worker/session/session.h"

namespace tributary::worker {

void Session::send_probes(Instant now, SendBatch& batch) {
  while (!batch.full()) {
    const ChunkIndex i = flights_.take_overdue(now);
    if (i == kNoChunk) break;
    probe(i, now, batch);
  }
  for (std::uint8_t s = 0; s < start_.shards && !batch.full(); ++s) {
    if (!flights_.is_silent(s, now)) continue;
    // For chunks without room in the batch, the answers to the others tell enough.
    std::uint32_t seq = flights_.shards()[s].base;
    while (!batch.full()) {
      const ChunkIndex i = flights_.take_silent(s, seq);
      if (i == kNoChunk) break;
      seq = flights_.chunk(i).seq + 1;
      probe(i, now, batch);
    }
  }
}

void Session::probe(ChunkIndex i, Instant now, SendBatch& batch) {
  ChunkState& c = flights_.chunk(i);
  flights_.await_answer(i, now);
  std::array<std::byte, 16> room;
  wire::ExtensionWriter extensions(room);
  wire::Header h = header(wire::PacketType::probe);
  h.op = c.op->id;
  h.chunk = c.chunk;
  h.seq = c.seq;
  h.attempt = c.attempt;
  h.shard = c.shard;
  // If one rank passes its data on, the others have no data to be asked for.
  h.collective = c.op->collective;
  h.covered = c.only_received ? 0 : 1;
  put(batch, h, extensions, {}, i);
  // A rank that only receives acknowledges results by ACK alone. The last ACK may have been lost,
  // and the next result may wait for it.
  if (c.only_received) flights_.shard_of(i).ack_due = true;
  if (!asked_since_) asked_since_ = now;
  counters_.probes.add();
}

}  // namespace tributary::worker
