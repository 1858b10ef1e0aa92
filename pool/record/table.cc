#include "pool/record/table.h"

namespace tributary::pool {

std::uint64_t RecordTable::forget_node(std::uint8_t node) {
  std::uint64_t forgotten = 0;
  for (Entry& e : entries_) {
    if (e.place >> kOffsetBits != std::uint64_t{node} + 1) continue;
    e = {};
    ++forgotten;
  }
  known_ -= forgotten;
  return forgotten;
}

}  // namespace tributary::pool
