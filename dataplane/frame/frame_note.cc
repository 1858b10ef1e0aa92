#include "dataplane/frame/frame_note.h"

#include <stdexcept>

namespace tributary::dataplane {

void FrameNotes::enable() {
  constexpr rte_mbuf_dynflag kFlag = {.name = "tributary_note", .flags = 0};
  constexpr rte_mbuf_dynfield kField = {.name = "tributary_note",
                                        .size = sizeof(FrameNote),
                                        .align = alignof(std::uint32_t),
                                        .flags = 0};
  const int bit = rte_mbuf_dynflag_register(&kFlag);
  const int at = rte_mbuf_dynfield_register(&kField);
  if (bit < 0 || at < 0)
    throw std::runtime_error("switch.telemetry: DPDK's packet buffers have no room for it");
  flag = std::uint64_t{1} << bit;
  offset = at;
}

}  // namespace tributary::dataplane
