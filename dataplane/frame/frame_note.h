// The note that in-band telemetry leaves on a sampled frame, from receive to transmit: a flag and a
// field of its buffer. Copies of the frame carry it, too.
//
// Without telemetry, no flag is registered and no frame has a note.
#pragma once

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <cstdint>
#include <cstring>

namespace tributary::dataplane {

// In place of a bitmap: the frame is reported as it is.
inline constexpr std::uint16_t kWatched = 1;
// In place of a bitmap, or beside kWatched: the frame may have an IOAM trace to fill.
inline constexpr std::uint16_t kTraced = 2;

struct FrameNote {
  std::uint64_t arrived_tsc = 0;  // 0: it was made here, for another reason than a frame
  std::uint16_t ingress = 0xFFFF;
  std::uint16_t bitmap = 0;  // to insert; 0: the frame has metadata already
};

// Written before any packet loop runs, and never again.
struct FrameNotes {
  static inline std::uint64_t flag = 0;
  static inline int offset = 0;

  // Throws std::runtime_error where DPDK has no room for it.
  static void enable();
};

inline bool has_note(const rte_mbuf* frame) {
  return (frame->ol_flags & FrameNotes::flag) != 0;
}
inline FrameNote note_of(const rte_mbuf* frame) {
  FrameNote note;
  std::memcpy(&note, reinterpret_cast<const char*>(frame) + FrameNotes::offset, sizeof note);
  return note;
}
inline void put_note(rte_mbuf* frame, const FrameNote& note) {
  frame->ol_flags |= FrameNotes::flag;
  std::memcpy(reinterpret_cast<char*>(frame) + FrameNotes::offset, &note, sizeof note);
}
inline void remove_note(rte_mbuf* frame) {
  frame->ol_flags &= ~FrameNotes::flag;
}
inline void copy_note(const rte_mbuf* from, rte_mbuf* to) {
  if (has_note(from)) put_note(to, note_of(from));
}

}  // namespace tributary::dataplane
