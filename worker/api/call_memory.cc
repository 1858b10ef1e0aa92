#include "worker/api/call_memory.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tributary::worker {
namespace {

using wire::Collective;

// Whether the result replaces this rank's data.
bool writes_data(const CollectiveCall& call, std::uint32_t rank) {
  switch (call.collective) {
    case Collective::reduce: return rank == call.root;
    case Collective::broadcast: return rank != call.root;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::barrier: return false;
    default: return true;
  }
}

[[noreturn]] void refuse(const CollectiveCall& call, std::uint32_t rank) {
  const std::string part = "elements " + std::to_string(rank * call.count) + " to " +
                           std::to_string((rank + 1) * call.count - 1);
  const std::string allowed =
      call.collective == Collective::all_gather
          ? "data is rank " + std::to_string(rank) + "'s part of the output (" + part + ")"
          : "the output is the head of data, or rank " + std::to_string(rank) + "'s part of it (" +
                part + ")";
  throw std::invalid_argument(std::string(wire::name_of(call.collective)) +
                              ": data and output overlap; allowed: they don't, or " + allowed);
}

}  // namespace

CallMemory::CallMemory(const CollectiveCall& call, std::uint32_t rank, std::uint32_t ranks)
    : collective_(call.collective) {
  const std::size_t part = call.count * wire::size_of(call.dtype);
  if (part == 0 || call.data == nullptr) return;
  const bool gathers = call.collective == Collective::all_gather;
  const bool scatters = call.collective == Collective::reduce_scatter;
  add(call.data, scatters ? part * ranks : part, writes_data(call, rank), "data");
  if (!gathers && !scatters) return;
  add(call.output, gathers ? part * ranks : part, true, "output");
  if (!ranges_[0].overlaps(ranges_[1])) return;
  const MemoryRange& whole = ranges_[gathers ? 1 : 0];
  const MemoryRange& own = ranges_[gathers ? 0 : 1];
  if (own.begin == whole.begin + rank * part) return;
  if (gathers || own.begin != whole.begin) refuse(call, rank);
  needs_staging_ = true;
}

CallMemory::CallMemory(const CollectiveCall& call, std::span<const ArrayPart> arrays, bool written)
    : collective_(call.collective) {
  for (const ArrayPart& array : arrays) {
    if (array.count == 0) continue;
    const auto* const begin = static_cast<const std::byte*>(array.data);
    list_.push_back({begin, begin + array.count * wire::size_of(call.dtype), written, "list"});
  }
  std::sort(list_.begin(), list_.end(),
            [](const MemoryRange& a, const MemoryRange& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; written && i < list_.size(); ++i)
    if (list_[i - 1].overlaps(list_[i]))
      throw std::invalid_argument(std::string(wire::name_of(call.collective)) +
                                  ": two arrays of the list overlap, and both get the result");
}

void CallMemory::add(const void* memory, std::size_t bytes, bool written, const char* argument) {
  const auto* begin = static_cast<const std::byte*>(memory);
  ranges_[count_++] = {begin, begin + bytes, written, argument};
}

}  // namespace tributary::worker
