#include "worker/api/open_memory.h"

#include <stdexcept>
#include <string>

namespace tributary::worker {

OpenMemory::Claim OpenMemory::claim(const CallMemory& memory) {
  for (const MemoryRange& range : memory.ranges())
    for (const Open& open : open_) {
      if (!open.range.overlaps(range) || !(open.range.written || range.written)) continue;
      throw std::invalid_argument(std::string(wire::name_of(memory.collective())) + ": its " +
                                  range.argument + " overlaps the " + open.range.argument +
                                  " of an op in flight (" + wire::name_of(open.collective) +
                                  "); wait for that op first, or use other memory");
    }
  Claim claim;
  if (memory.ranges().size() > claim.handles_.size())
    claim.more_.reserve(memory.ranges().size() - claim.handles_.size());
  for (const MemoryRange& range : memory.ranges()) {
    const std::uint32_t handle = draw_handle();
    place_[handle] = static_cast<std::uint32_t>(open_.size());
    open_.push_back({range, memory.collective(), handle});
    if (claim.count_ < claim.handles_.size())
      claim.handles_[claim.count_++] = handle;
    else
      claim.more_.push_back(handle);
  }
  return claim;
}

std::uint32_t OpenMemory::draw_handle() {
  if (free_.empty()) {
    if (free_.capacity() <= place_.size()) free_.reserve(2 * place_.size() + 8);
    place_.push_back(0);
    free_.push_back(static_cast<std::uint32_t>(place_.size() - 1));
  }
  const std::uint32_t handle = free_.back();
  free_.pop_back();
  return handle;
}

void OpenMemory::give_back(std::uint32_t handle) {
  const std::uint32_t place = place_[handle];
  open_[place] = open_.back();
  place_[open_[place].handle] = place;
  open_.pop_back();
  free_.push_back(handle);
}

void OpenMemory::release(const Claim& claim) {
  for (std::uint32_t i = 0; i < claim.count_; ++i) give_back(claim.handles_[i]);
  for (const std::uint32_t handle : claim.more_) give_back(handle);
}

}  // namespace tributary::worker
