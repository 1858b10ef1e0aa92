#include "sim/rules/reach.h"

#include <cstdio>
#include <numeric>

namespace tributary::sim {
namespace {

using aggregator::ChunkState;
using aggregator::Verdict;

constexpr std::array<const char*, kVerdictCount> kVerdictNames = {
    "opened",        "folded",  "completed", "answered",  "noted",
    "epoch-aborted", "refused", "dropped",   "forwarded", "sent-up"};
static_assert(static_cast<std::size_t>(Verdict::sent_up) + 1 == kVerdictCount);
constexpr std::array<const char*, kChunkStateCount> kStateNames = {"unseen",   "open", "complete",
                                                                   "released", "sent", "escalated"};
static_assert(static_cast<std::size_t>(ChunkState::escalated) + 1 == kChunkStateCount);

constexpr std::array<const char*, kKnobCount> kKnobNames = {
#define X(id, label, condition) "ops with " label,
    TRIBUTARY_SIM_KNOBS(X)
#undef X
};
constexpr std::array<const char*, kEngineEventCount> kEngineEventNames = {
    TRIBUTARY_SIM_ENGINE_EVENTS(TRIBUTARY_SIM_LABEL)};
constexpr std::array<const char*, kHostEventCount> kHostEventNames = {
    TRIBUTARY_SIM_HOST_EVENTS(TRIBUTARY_SIM_LABEL)};
constexpr std::array<const char*, kLegEventCount> kLegEventNames = {
    TRIBUTARY_SIM_LEG_EVENTS(TRIBUTARY_SIM_LABEL)};
constexpr std::array<const char*, kTakenSlotCount> kTakenSlotNames = {
    TRIBUTARY_SIM_TAKEN_SLOTS(TRIBUTARY_SIM_LABEL)};
constexpr std::array<const char*, kHeldEventCount> kHeldEventNames = {
    TRIBUTARY_SIM_HELD_EVENTS(TRIBUTARY_SIM_LABEL)};
constexpr std::size_t kReason(wire::Reason reason) {
  return static_cast<std::size_t>(reason);
}

// A visitor gets each item's name, count and the reason why it is not expected.
template <typename Visitor>
void visit(const Reach& r, Visitor visitor) {
  for (std::size_t v = 0; v < kVerdictCount; ++v)
    visitor("verdict " + std::string(kVerdictNames[v]), r.verdicts[v], {});
  for (std::size_t d = 0; d < kDropReasonCount; ++d) {
    const auto reason = static_cast<DropReason>(d);
    visitor("drop " + std::string(drop_label(reason)),
            r.switch_drops[d] + r.worker_drops[d] + r.server_drops[d], excuse(reason));
  }
  for (std::size_t c = 0; c < kCollectiveCount; ++c)
    visitor("collective " + std::string(wire::name_of(static_cast<wire::Collective>(c))),
            r.collectives[c], {});
  for (std::size_t d = 1; d < r.dtypes.size(); ++d)
    visitor("type " + std::string(wire::name_of(static_cast<wire::DType>(d))), r.dtypes[d], {});
  for (std::size_t o = 1; o < r.reduce_ops.size(); ++o)
    visitor("op " + std::string(wire::name_of(static_cast<wire::ReduceOp>(o))), r.reduce_ops[o],
            {});
  visitor("overflow reported", r.overflows, {});
  visitor("ranks that resumed after a drain", r.resumptions, {});
  visitor("ranks that resumed after a resize", r.resizes, {});
  visitor("floats sent at once", r.floats_at_once, {});
  visitor("window made smaller", r.window_decreases, {});
  visitor("result that tells of a queue", r.marked_results, {});
  for (std::size_t k = 0; k < kKnobCount; ++k) visitor(kKnobNames[k], r.knobs[k], {});
  for (std::size_t k = 0; k < kKnobCount; ++k)
    visitor("in trees: " + std::string(kKnobNames[k]), r.tree_knobs[k], {});
  for (std::size_t e = 0; e < kEngineEventCount; ++e)
    visitor(kEngineEventNames[e], r.engine[e], {});
  for (std::size_t t = 0; t < kTakenSlotCount; ++t)
    visitor(kTakenSlotNames[t], r.taken_slots[t], {});
  for (std::size_t e = 0; e < kHeldEventCount; ++e) visitor(kHeldEventNames[e], r.held[e], {});
  for (std::size_t e = 0; e < kHostEventCount; ++e)
    visitor(kHostEventNames[e], r.host[e], excuse(static_cast<HostEvent>(e)));
  for (std::size_t e = 0; e < kLegEventCount; ++e) visitor(kLegEventNames[e], r.leg[e], {});
  for (std::size_t e = 0; e < kLegEventCount; ++e)
    visitor("in trees: " + std::string(kLegEventNames[e]), r.tree_leg[e], {});
  for (std::size_t f = 0; f < kFaultKindCount; ++f)
    for (std::size_t s = 0; s < kChunkStateCount; ++s)
      visitor("fault " + std::string(name_of(static_cast<FaultKind>(f))) + " x " + kStateNames[s],
              r.faults[f][s], {});
}

const char* unreachable(DropReason reason) {
  switch (reason) {
    case DropReason::frame_multi_segment: return "simulated frames are in one piece";
    case DropReason::fragment_malformed:
    case DropReason::fragment_too_large:
    case DropReason::fragment_duplicate:
    case DropReason::fragment_overlap:
    case DropReason::fragment_timeout:
    case DropReason::fragment_evicted: return "the simulated switch puts no fragments together";
    case DropReason::no_next_hop: return "the simulated switch has no routes";
    case DropReason::roce_malformed:
    case DropReason::icrc:
    case DropReason::rdma_port:
    case DropReason::rdma_qp:
    case DropReason::rdma_pkey:
    case DropReason::rdma_qkey:
    case DropReason::rdma_opcode:
    case DropReason::rdma_job:
    case DropReason::rdma_psn:
    case DropReason::rdma_address:
    case DropReason::cm_malformed: return "the simulated ranks use UDP";
    case DropReason::no_mbuf: return "the simulated switch has no buffer pool";
    case DropReason::handover_full:
    case DropReason::job_moved: return "the simulated switch has one lcore";
    case DropReason::bad_op: return "no garbage names the one number of 32 bits that is no op";
    case DropReason::spoofed_mac: return "the simulated switch has no static addresses";
    case DropReason::vlan_denied:
    case DropReason::storm_control:
    case DropReason::acl_denied:
    case DropReason::group_malformed:
    case DropReason::group_flood:
    case DropReason::snooping_limit:
    case DropReason::lldp_malformed:
    case DropReason::lldp_refused:
    case DropReason::bridge_reserved:
    case DropReason::bpdu_guard:
    case DropReason::no_member:
      return "the simulated switch forwards without VLANs, rules and neighbours";
    case DropReason::bad_name:
    case DropReason::name_refused:
    case DropReason::name_unasked:
      return "drawn ranks have no named data, but scenarios/tree-named";
    case DropReason::telemetry_untrusted: return "the simulated switch takes no part in telemetry";
    case DropReason::overlap: return "the completion engine counts it by job, below";
    default: return nullptr;
  }
}

}  // namespace

Excuse excuse(DropReason reason) {
  // Engines' own tests lie, and so does the fuzz target of a tree.
  if (reason == DropReason::bad_coverage)
    return {"no simulated switch lies about its ranks; after a change of the tree one may be wrong",
            true};
  if (reason == DropReason::checksum_offloaded)
    return {"senders finish their checksums; a damaged one may look unfinished, one in 65,536",
            true};
  return {unreachable(reason)};
}

Excuse excuse(HostEvent event) {
  switch (event) {
    case HostEvent::invalid: return {"the aggregation engine has checked all that it sends on"};
    case HostEvent::mismatch:
      return {"engines compare what they send on; a host below may hear of two before its root",
              true};
    default: return {};
  }
}

void Reach::counters(const aggregator::Engine& e) {
  for (std::size_t i = 0; i < e.job_count(); ++i) {
    const aggregator::JobCounters c = e.counters(i);
#define X(id, label, counter) engine[static_cast<std::size_t>(EngineEvent::id)] += c.counter.get();
    TRIBUTARY_SIM_ENGINE_EVENTS(X)
#undef X
  }
}

void Reach::counters(const completion::Server& server) {
  for (std::size_t seat = 0; seat < server.seat_count(); ++seat) counters(server.engine(seat));
}

void Reach::counters(const completion::RemoteHosts& hosts, bool tree) {
  for (std::size_t i = 0; i < hosts.job_count(); ++i) {
    const completion::HostCounters& c = hosts.counters(i);
#define X(id, label, counter)                                     \
  leg[static_cast<std::size_t>(LegEvent::id)] += c.counter.get(); \
  tree_leg[static_cast<std::size_t>(LegEvent::id)] += tree ? c.counter.get() : 0;
    TRIBUTARY_SIM_LEG_EVENTS(X)
#undef X
  }
}

void Reach::counters(const completion::Engine& h) {
  for (std::size_t i = 0; i < h.job_count(); ++i) {
    const completion::JobCounters& c = h.counters(i);
#define X(id, label, counter) host[static_cast<std::size_t>(HostEvent::id)] += c.counter.get();
    TRIBUTARY_SIM_HOST_EVENTS(X)
#undef X
  }
}

void Reach::add(const Reach& other) {
  for (std::size_t i = 0; i < verdicts.size(); ++i) verdicts[i] += other.verdicts[i];
  for (std::size_t i = 0; i < switch_drops.size(); ++i) {
    switch_drops[i] += other.switch_drops[i];
    worker_drops[i] += other.worker_drops[i];
  }
  for (std::size_t f = 0; f < faults.size(); ++f)
    for (std::size_t s = 0; s < kChunkStateCount; ++s) faults[f][s] += other.faults[f][s];
  for (std::size_t c = 0; c < kCollectiveCount; ++c) collectives[c] += other.collectives[c];
  for (std::size_t t = 0; t < dtypes.size(); ++t) dtypes[t] += other.dtypes[t];
  for (std::size_t o = 0; o < reduce_ops.size(); ++o) reduce_ops[o] += other.reduce_ops[o];
  overflows += other.overflows;
  resumptions += other.resumptions;
  resizes += other.resizes;
  floats_at_once += other.floats_at_once;
  window_decreases += other.window_decreases;
  marked_results += other.marked_results;
  values_put += other.values_put;
  values_got += other.values_got;
  for (std::size_t k = 0; k < kKnobCount; ++k) {
    knobs[k] += other.knobs[k];
    tree_knobs[k] += other.tree_knobs[k];
  }
  for (std::size_t e = 0; e < kEngineEventCount; ++e) engine[e] += other.engine[e];
  for (std::size_t e = 0; e < kHostEventCount; ++e) host[e] += other.host[e];
  for (std::size_t e = 0; e < kLegEventCount; ++e) {
    leg[e] += other.leg[e];
    tree_leg[e] += other.tree_leg[e];
  }
  for (std::size_t d = 0; d < kDropReasonCount; ++d) server_drops[d] += other.server_drops[d];
  for (std::size_t t = 0; t < kTakenSlotCount; ++t) taken_slots[t] += other.taken_slots[t];
  held_data(other.held);
}

std::uint64_t Reach::fault_total() const {
  std::uint64_t sum = 0;
  for (std::size_t f = 0; f < kFaultKindCount; ++f) sum += fault_total(static_cast<FaultKind>(f));
  return sum;
}

std::uint64_t Reach::fault_total(FaultKind kind) const {
  const auto& by_state = faults[static_cast<std::size_t>(kind)];
  return std::accumulate(by_state.begin(), by_state.end(), std::uint64_t{0});
}

std::string Reach::table() const {
  std::string text;
  visit(*this, [&](const std::string& name, std::uint64_t count, Excuse excuse) {
    std::array<char, 96> line{};
    std::snprintf(line.data(), line.size(), "  %-40s %12llu", name.c_str(),
                  static_cast<unsigned long long>(count));
    text += line.data();
    if (excuse.why != nullptr)
      text += std::string(excuse.seldom ? "  seldom: " : "  cannot occur: ") + excuse.why;
    text += "\n";
  });
  return text;
}

std::string Reach::shortfall(std::uint64_t least) const {
  std::string text;
  visit(*this, [&](const std::string& name, std::uint64_t count, Excuse excuse) {
    if (excuse.why == nullptr && count < least)
      text += name + ": " + std::to_string(count) + " of " + std::to_string(least) + "\n";
    if (excuse.why != nullptr && !excuse.seldom && count > 0)
      text += name + ": reached " + std::to_string(count) +
              " times, though listed as: " + excuse.why + "\n";
  });
  return text;
}

}  // namespace tributary::sim
