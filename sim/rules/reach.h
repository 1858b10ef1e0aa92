// Counts how often each possible event did happen: verdicts, drop reasons, and faults by the state
// of the chunk they struck. An event that was never reached was never tested.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "aggregator/chunk/chunk_state.h"
#include "aggregator/engine/engine.h"
#include "completion/engine/engine.h"
#include "completion/host/remote_hosts.h"
#include "completion/host/server.h"
#include "core/drop_reason.h"
#include "sim/node/held_data.h"
#include "sim/scenario/fault_kind.h"
#include "sim/scenario/workload.h"

namespace tributary::sim {

inline constexpr std::size_t kVerdictCount = 10;
inline constexpr std::size_t kCollectiveCount = wire::kCollectiveMax + 1;
inline constexpr std::size_t kChunkStateCount = 6;

// The first two words of each item in the lists below: its enumerator, and its name in tables.
#define TRIBUTARY_SIM_ID(id, ...) id,
#define TRIBUTARY_SIM_LABEL(id, label, ...) label,

// X(enumerator, name in tables, whether a job's `sums` have it)
#define TRIBUTARY_SIM_KNOBS(X)                                                                    \
  X(reproducible, "order reproducible", sums.order == wire::Order::reproducible)                  \
  X(bracketing, "bracketing", sums.bracketing.has_value())                                        \
  X(collect, "trigger collect", sums.trigger == config::Trigger::collect)                         \
  X(narrow, "partials narrow", sums.partials == wire::Partials::narrow)                           \
  X(modular, "arithmetic modular", sums.arithmetic == wire::Arithmetic::modular)                  \
  X(dynamic, "slots dynamic", sums.slots == config::SlotMode::dynamic)                            \
  X(quota, "quota", sums.quota != 0)                                                              \
  X(priority, "priority", sums.priority != 0)                                                     \
  X(verify, "verify", sums.verify)                                                                \
  X(returned, "release returned", sums.release == config::Release::returned)                      \
  X(escalate, "on_deadline escalate", sums.on_deadline == config::OnDeadline::escalate)           \
  X(early, "completion_trigger streaming", sums.completion_trigger == config::Trigger::streaming) \
  X(degraded, "degraded_after", job.degraded_after.has_value())                                   \
  X(groups, "loss groups", job.loss_group > 1 && job.window > 1)                                  \
  X(scaled, "fixed point", plan.scales())

enum class Knob : std::uint8_t { TRIBUTARY_SIM_KNOBS(TRIBUTARY_SIM_ID) count_ };
inline constexpr std::size_t kKnobCount = static_cast<std::size_t>(Knob::count_);

// Events inside the engine that are no verdict: X(enumerator, name, counter of a job)
#define TRIBUTARY_SIM_ENGINE_EVENTS(X)                                                          \
  X(collision, "collision of slots", collisions)                                                \
  X(preemption, "preemption", preemptions)                                                      \
  X(escalated_deadline, "escalated: deadline", escalations[kReason(wire::Reason::deadline)])    \
  X(escalated_collision, "escalated: collision", escalations[kReason(wire::Reason::collision)]) \
  X(escalated_no_slot, "escalated: no slot", escalations[kReason(wire::Reason::no_slot)])       \
  X(escalated_excluded, "escalated: excluded", escalations[kReason(wire::Reason::excluded)])    \
  X(escalated_overflow, "escalated: overflow", escalations[kReason(wire::Reason::overflow)])    \
  X(escalated_resend, "escalated: resend", escalations[kReason(wire::Reason::resend)])          \
  X(forwarded, "contribution forwarded", forwarded)                                             \
  X(sent_up, "sum sent to be verified", sent_up)                                                \
  X(host_result, "result came back", host_results)                                              \
  X(degraded, "result lacks ranks", degraded)                                                   \
  X(late, "data after a result without it", late)                                               \
  X(saturated, "result marked overflowed", saturated)                                           \
  X(marked_data, "data that met a queue", marked_data)                                          \
  X(slot_mark, "chunk marked for want of slots", slot_marks)                                    \
  X(cache_hit, "cache hit", cache_hits)                                                         \
  X(cache_eviction, "cache eviction", cache_evictions)

enum class EngineEvent : std::uint8_t { TRIBUTARY_SIM_ENGINE_EVENTS(TRIBUTARY_SIM_ID) count_ };
inline constexpr std::size_t kEngineEventCount = static_cast<std::size_t>(EngineEvent::count_);

// The same of the completion engine that the switch hosts.
#define TRIBUTARY_SIM_HOST_EVENTS(X)                                                               \
  X(mark, "host: announcement", marks)                                                             \
  X(single, "host: contribution held", singles)                                                    \
  X(aggregate, "host: aggregate held", aggregates)                                                 \
  X(early, "host: combined on arrival", combined_early)                                            \
  X(duplicate, "host: duplicate", duplicates)                                                      \
  X(superseded, "host: piece superseded", superseded)                                              \
  X(overlap, "host: overlap dropped", overlaps_dropped)                                            \
  X(rerequest, "host: rank asked again", rerequests)                                               \
  X(full, "host: refused for lack of memory", refused_full)                                        \
  X(given_up, "host: given up for an earlier chunk", given_up)                                     \
  X(stale, "host: stale", stale)                                                                   \
  X(invalid, "host: contradiction", invalid)                                                       \
  X(overflow, "host: result marked overflowed", overflows)                                         \
  X(degraded, "host: result without the late", degraded)                                           \
  X(float_retry, "host: float retry", float_retries)                                               \
  X(deadline_result, "host: result after deadline", completed[kReason(wire::Reason::deadline)])    \
  X(collision_result, "host: result after collision", completed[kReason(wire::Reason::collision)]) \
  X(excluded_result, "host: result without the excluded",                                          \
    completed[kReason(wire::Reason::excluded)])                                                    \
  X(no_slot_result, "host: result for want of a slot", completed[kReason(wire::Reason::no_slot)])  \
  X(verified, "host: result verified", completed[kReason(wire::Reason::verify)])                   \
  X(pending, "host: pending", pending_replies)                                                     \
  X(unknown, "host: unknown", unknown_replies)                                                     \
  X(repeated, "host: result repeated", results_repeated)                                           \
  X(deadline, "host: deadline", aborts_deadline)                                                   \
  X(mismatch, "host: mismatch", aborts_mismatch)                                                   \
  X(model, "host: update of a model that is not here", aborts_model)

enum class HostEvent : std::uint8_t { TRIBUTARY_SIM_HOST_EVENTS(TRIBUTARY_SIM_ID) count_ };
inline constexpr std::size_t kHostEventCount = static_cast<std::size_t>(HostEvent::count_);

// The same of a root's dealings with hosts elsewhere.
#define TRIBUTARY_SIM_LEG_EVENTS(X)                            \
  X(sent, "servers: message", sent)                            \
  X(result, "servers: result", results)                        \
  X(unserved, "servers: none serves", unserved)                \
  X(takeover, "servers: take-over", takeovers)                 \
  X(restart, "servers: restart noticed", restarts)             \
  X(stale_term, "servers: answer of an old term", stale_terms) \
  X(announced, "servers: chunk announced again", announced)

enum class LegEvent : std::uint8_t { TRIBUTARY_SIM_LEG_EVENTS(TRIBUTARY_SIM_ID) count_ };
inline constexpr std::size_t kLegEventCount = static_cast<std::size_t>(LegEvent::count_);

// Slots that one job's chunk took from another's (O7), as the checker sees it: X(enumerator, name)
#define TRIBUTARY_SIM_TAKEN_SLOTS(X)                     \
  X(idle_lower, "slot taken: idle, of a lower priority") \
  X(idle_equal, "slot taken: idle, of an equal")         \
  X(busy_lower, "slot taken: busy, of a lower priority") \
  X(borrowed, "slot taken: busy, borrowed")              \
  X(of_sum, "slot taken: its sum waited for the result") \
  X(in_tree, "slot taken: in a tree")                    \
  X(op_done, "op done on a rank though a slot was taken")

enum class TakenSlot : std::uint8_t { TRIBUTARY_SIM_TAKEN_SLOTS(TRIBUTARY_SIM_ID) count_ };
inline constexpr std::size_t kTakenSlotCount = static_cast<std::size_t>(TakenSlot::count_);

struct Reach {
  std::array<std::uint64_t, kVerdictCount> verdicts{};
  std::array<std::uint64_t, kDropReasonCount> switch_drops{};
  std::array<std::uint64_t, kDropReasonCount> worker_drops{};
  std::array<std::array<std::uint64_t, kChunkStateCount>, kFaultKindCount> faults{};
  std::array<std::uint64_t, kCollectiveCount> collectives{};  // ops done on a rank
  std::array<std::uint64_t, wire::kDTypeMax + 1> dtypes{};
  std::array<std::uint64_t, wire::kReduceOpMax + 1> reduce_ops{};
  std::uint64_t overflows = 0;    // ops that failed as they had to
  std::uint64_t resumptions = 0;  // ranks that went on in another epoch after a drain
  std::uint64_t resizes = 0;  // the same, in an epoch of more or fewer ranks than the one before
  std::uint64_t floats_at_once = 0;    // chunks, as the ranks count
  std::uint64_t window_decreases = 0;  // the same
  std::uint64_t marked_results = 0;    // sent, passed on and repeated
  std::uint64_t values_put = 0;        // by name
  std::uint64_t values_got = 0;
  std::array<std::uint64_t, kKnobCount> knobs{};          // ops done on a rank of a job with it
  std::array<std::uint64_t, kKnobCount> tree_knobs{};     // of those, in a tree of switches
  std::array<std::uint64_t, kEngineEventCount> engine{};  // as the switch counts
  std::array<std::uint64_t, kHostEventCount> host{};      // as the completion engines count
  std::array<std::uint64_t, kLegEventCount> leg{};        // as the roots count
  std::array<std::uint64_t, kLegEventCount> tree_leg{};   // of those, in a tree of switches
  std::array<std::uint64_t, kDropReasonCount> server_drops{};
  std::array<std::uint64_t, kTakenSlotCount> taken_slots{};
  std::array<std::uint64_t, kHeldEventCount> held{};  // as the nodes see it

  void add(const Reach& other);
  void taken(TakenSlot how) { ++taken_slots[static_cast<std::size_t>(how)]; }
  void held_data(const std::array<std::uint64_t, kHeldEventCount>& events) {
    for (std::size_t e = 0; e < kHeldEventCount; ++e) held[e] += events[e];
  }
  void verdict(aggregator::Verdict v) { ++verdicts[static_cast<std::size_t>(v)]; }
  // Everything that an engine, or what stands beside it, has counted since it started.
  void counters(const aggregator::Engine& e);
  void counters(const completion::Engine& host);
  void counters(const completion::Server& server);
  void counters(const completion::RemoteHosts& hosts, bool tree);
  void op(const OpPlan& plan, const JobScenario& job, bool tree) {
    const config::JobConfig& sums = job.sums;
#define X(id, label, condition)                                     \
  knobs[static_cast<std::size_t>(Knob::id)] += (condition) ? 1 : 0; \
  tree_knobs[static_cast<std::size_t>(Knob::id)] += tree && (condition) ? 1 : 0;
    TRIBUTARY_SIM_KNOBS(X)
#undef X
    ++collectives[static_cast<std::size_t>(plan.collective)];
    ++dtypes[static_cast<std::size_t>(plan.dtype)];
    if (plan.reduces()) ++reduce_ops[static_cast<std::size_t>(plan.reduce_op)];
  }
  void fault(FaultKind kind, aggregator::ChunkState state) {
    ++faults[static_cast<std::size_t>(kind)][static_cast<std::size_t>(state)];
  }
  [[nodiscard]] std::uint64_t fault_total() const;
  [[nodiscard]] std::uint64_t fault_total(FaultKind kind) const;

  // Every item with its count, or why it does not occur.
  [[nodiscard]] std::string table() const;
  // One line for each item that is expected and occurred fewer than `least` times, or that cannot
  // occur and did; empty: none.
  [[nodiscard]] std::string shortfall(std::uint64_t least) const;
};

// Why an item is not expected.
struct Excuse {
  const char* why = nullptr;  // nullptr: it is expected
  bool seldom = false;        // it can occur, once in more worlds than one would wait for
};
Excuse excuse(DropReason reason);
Excuse excuse(HostEvent event);

}  // namespace tributary::sim
