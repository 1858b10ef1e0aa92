#include "worker/api/open_memory.h"

#include <stdexcept>
#include <string>

namespace tributary::worker {

OpenMemory::Claim OpenMemory::claim(const CallMemory& memory) {
  for (const MemoryRange& range : memory.ranges())
    for (const Slot& slot : slots_) {
      if (!slot.range.overlaps(range) || !(slot.range.written || range.written)) continue;
      throw std::invalid_argument(std::string(wire::name_of(memory.collective())) + ": its " +
                                  range.argument + " overlaps the " + slot.range.argument +
                                  " of an op in flight (" + wire::name_of(slot.collective) +
                                  "); wait for that op first, or use other memory");
    }
  Claim claim;
  if (memory.ranges().size() > claim.slots_.size())
    claim.more_.reserve(memory.ranges().size() - claim.slots_.size());
  for (const MemoryRange& range : memory.ranges()) {
    if (free_.empty()) {
      // Reserved here, so that release() allocates nothing.
      if (free_.capacity() <= slots_.size()) free_.reserve(2 * slots_.size() + 8);
      slots_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = {range, memory.collective()};
    if (claim.count_ < claim.slots_.size())
      claim.slots_[claim.count_++] = slot;
    else
      claim.more_.push_back(slot);
  }
  return claim;
}

void OpenMemory::release(const Claim& claim) {
  const auto give_back = [this](std::uint32_t slot) {
    slots_[slot] = {};
    free_.push_back(slot);
  };
  for (std::uint32_t i = 0; i < claim.count_; ++i) give_back(claim.slots_[i]);
  for (const std::uint32_t slot : claim.more_) give_back(slot);
  if (free_.size() < slots_.size()) return;
  slots_.clear();  // later claims don't search what a burst of ops has left
  free_.clear();
}

}  // namespace tributary::worker
