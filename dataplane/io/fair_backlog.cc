#include "dataplane/io/fair_backlog.h"

namespace tributary::dataplane {

bool FairBacklog::push(const Entry& entry) {
  Fifo& fifo = fifos_[static_cast<std::size_t>(entry.traffic)];
  if (fifo.count == kRoom) return false;
  fifo.entries[(fifo.first + fifo.count++) % kRoom] = entry;
  ++count_;
  return true;
}

// A class without frames to send saves no credit.
void FairBacklog::pass_turn() {
  if (fifos_[turn_].count == 0) fifos_[turn_].credit = 0;
  turn_ = (turn_ + 1) % fifos_.size();
  fifos_[turn_].credit += kQuantum;
}

FairBacklog::Entry FairBacklog::pop() {
  for (;;) {
    Fifo& fifo = fifos_[turn_];
    if (fifo.count == 0 || fifo.entries[fifo.first].bytes > fifo.credit) {
      pass_turn();
      continue;
    }
    const Entry entry = fifo.entries[fifo.first];
    fifo.first = (fifo.first + 1) % kRoom;
    --fifo.count;
    --count_;
    fifo.credit -= entry.bytes;
    return entry;
  }
}

}  // namespace tributary::dataplane
