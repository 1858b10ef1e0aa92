// The stages of one turn of the packet loop, and what each costs.
//
// The list is static. Counters are written by the lcore that runs the loop, read by any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/counter.h"
#include "core/log_histogram.h"

namespace tributary::dataplane {

// X(enumerator, what it does)
#define TRIBUTARY_STAGES(X)                                        \
  X(commands, "requests of control threads")                       \
  X(handed, "frames and addresses that other lcores hand over")    \
  X(receive, "receive bursts")                                     \
  X(classify, "check headers, choose what to do")                  \
  X(aggregate, "verify, sum, build and queue results and answers") \
  X(host, "completion engines hosted for roots above")             \
  X(forward, "switch other traffic between ports")                 \
  X(answer, "ARP and ICMP echo for the switch's own address")      \
  X(expire, "deadlines, leases, ageing")                           \
  X(transmit, "transmit bursts")

enum class Stage : std::uint8_t {
#define X(id, text) id,
  TRIBUTARY_STAGES(X)
#undef X
      count_
};
inline constexpr std::size_t kStageCount = static_cast<std::size_t>(Stage::count_);

constexpr const char* name_of(Stage s) {
  constexpr std::array<const char*, kStageCount> names = {
#define X(id, text) #id,
      TRIBUTARY_STAGES(X)
#undef X
  };
  return names[static_cast<std::size_t>(s)];
}
constexpr const char* text_of(Stage s) {
  constexpr std::array<const char*, kStageCount> texts = {
#define X(id, text) text,
      TRIBUTARY_STAGES(X)
#undef X
  };
  return texts[static_cast<std::size_t>(s)];
}

// Cycles of a call. Below 128, the first bucket, is little more than reading the counter twice; the
// last begins at a fifth of a second or so, which no call may take.
using CallCycles = LogHistogram<7, 24>;

// Counters of one lcore. A call that finds nothing to do counts in `idle_cycles` alone: the loop
// polls all the time, and idle calls would dominate the percentiles.
struct alignas(64) StageCounters {
  Counter calls;           // times the stage had something to do
  Counter packets;         // handled in those
  Counter cycles;          // spent in those
  Counter idle_cycles;     // spent finding nothing to do
  Counter longest_cycles;  // of one of the calls
  CallCycles call_cycles;  // of each of them
};
static_assert(sizeof(StageCounters) == 4 * 64, "the counters of every call are in one cache line");
using StageTable = std::array<StageCounters, kStageCount>;

// Attributes the cycles since the previous mark to a stage. `tsc` is any cycle counter.
class StageMeter {
 public:
  StageMeter(StageTable& table, std::uint64_t tsc) : table_(table), last_(tsc) {}

  // Adds the remaining cycles of calls that have been counted.
  void mark_rest(Stage stage, std::uint64_t tsc) {
    table_[static_cast<std::size_t>(stage)].cycles.add(tsc - last_);
    last_ = tsc;
  }
  void mark(Stage stage, std::size_t packets, std::uint64_t tsc) {
    StageCounters& counters = table_[static_cast<std::size_t>(stage)];
    const std::uint64_t spent = tsc - last_;
    last_ = tsc;
    if (packets == 0) return counters.idle_cycles.add(spent);
    counters.calls.add();
    counters.packets.add(packets);
    counters.cycles.add(spent);
    counters.call_cycles.add(spent);
    counters.longest_cycles.raise_to(spent);
  }

 private:
  StageTable& table_;
  std::uint64_t last_;
};

}  // namespace tributary::dataplane
