// The responder of an unreliable connection (IBA volume 1, 9.8.2): which packets of WRITEs are
// taken, and where their bytes belong. Nothing is answered, and nothing comes again.
//
//   FIRST (address, length) ─▶ MIDDLE … ─▶ LAST      or ONLY
//
// After a gap in the PSNs, and after a packet that is refused, all is discarded up to the next
// FIRST or ONLY. That may have any PSN that is ahead: what is behind was seen, or was given up.
// Pure; it holds numbers, no data.
#pragma once

#include <cstdint>

#include "core/net/roce.h"
#include "dataplane/rdma/connected/write_message.h"

namespace tributary::dataplane {

class UnreliableSide {
 public:
  using What = RequestKind;
  using Step = RequestStep;

  void start(std::uint32_t psn, std::uint32_t path_mtu);

  // Says what this packet is. Changes nothing; the caller calls taken() or discard(), unless it is
  // a duplicate.
  [[nodiscard]] Step look(const wire::RoceView& view, const WindowTerms& terms) const;
  void taken(const wire::RoceView& view, std::uint64_t address);
  // The rest of its message is not taken either. The packet itself does not come again: it is a
  // duplicate then, unless it was behind a gap.
  void discard(const wire::RoceView& view, What what);

  [[nodiscard]] std::uint32_t expected() const { return expected_; }

 private:
  std::uint32_t expected_ = 0;
  WriteMessage message_;
};

}  // namespace tributary::dataplane
