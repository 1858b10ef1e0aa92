#include "aggregator/chunk/chunk_look.h"

namespace tributary::aggregator {

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

}  // namespace tributary::aggregator
