// The life of one chunk at a switch.
//
//            ┌─────────── collision, no slot ───────────▶ escalated ──host's result──┐
//            │   ┌──── deadline, resend, preemption ──────▶  ▲                       ▼
//   unseen ──┴▶ open ──last, final here──────────────────────┼──────────────────▶ complete
//                │                                           │                       │ all have
//                └──last, goes up──▶ sent ──asked for again──┘                       ▼ acknowledged
//                                      └────────── result returned ──▶ complete   released
#pragma once

#include <cstdint>

namespace tributary::aggregator {

enum class ChunkState : std::uint8_t { unseen, open, complete, released, sent, escalated };

}  // namespace tributary::aggregator
