// The memory in which a switch shows results to this process (worker/transport/memif_results.h),
// mapped for reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "worker/transport/memif_format.h"
#include "worker/transport/memif_results.h"

namespace tributary::worker {

class SharedResults {
 public:
  // nullptr: it is not what the switch says, or cannot be mapped; results come as copies then.
  static std::shared_ptr<const SharedResults> map(const memif::Share& share, int memory);

  [[nodiscard]] std::uint32_t region() const { return region_; }
  // Any thread. Copies the packet into `room`, so that its elements are aligned to 64 bytes, and
  // returns it there. nullopt: the switch has written over it, or it does not lie there.
  [[nodiscard]] std::optional<std::span<const std::byte>> read(const memif::ResultReference& at,
                                                               std::vector<std::byte>& room) const;

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(const std::byte* at) const;
  };
  SharedResults(const memif::Share& share, std::unique_ptr<const std::byte, Unmap> memory)
      : region_(share.region),
        slots_(share.slots),
        slot_bytes_(share.slot_bytes),
        memory_(std::move(memory)) {}

  std::uint32_t region_;
  std::uint32_t slots_;
  std::uint32_t slot_bytes_;
  std::unique_ptr<const std::byte, Unmap> memory_;
};

}  // namespace tributary::worker
