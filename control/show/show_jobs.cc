#include "control/show/show_jobs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/plan/port_places.h"
#include "config/text/codec.h"
#include "config/topology/open_job.h"
#include "config/topology/topology.h"
#include "control/metrics/metric_table.h"
#include "control/text/show_text.h"
#include "core/net/udp_peer.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostSlots = 1024;

// Some tens of microseconds each: a job at least, and more while they have few members; and of the
// tables of chunks so many places, or so many rows, which take longer.
constexpr std::size_t kMembersPerLook = 256;
constexpr aggregator::SlotLimits kSlotsPerLook = {4096, 128};

std::vector<aggregator::JobStatus> job_status(const dataplane::Switch& sw) {
  const auto look = [](dataplane::PacketLoop& w, Instant now, std::size_t& next,
                       std::vector<aggregator::JobStatus>& jobs) {
    const std::size_t count = w.engine().job_count();
    for (std::size_t members = 0; next < count && members < kMembersPerLook; ++next) {
      jobs.push_back(w.engine().job_status(now, next));
      members += 1 + jobs.back().members.size();
    }
    return next < count;
  };
  auto jobs = in_pieces_of_every_loop<aggregator::JobStatus, std::size_t>(sw, look);
  sort_by_job(sw, jobs, &aggregator::JobStatus::id);
  return jobs;
}

// Takes at most as many slots from each loop as are shown.
std::vector<aggregator::SlotStatus> slot_status(const dataplane::Switch& sw) {
  const auto look = [](dataplane::PacketLoop& w, Instant now, aggregator::SlotPlace& place,
                       std::vector<aggregator::SlotStatus>& slots) {
    return w.engine().slot_status(now, aggregator::Slots::all, place, kSlotsPerLook, slots);
  };
  auto slots =
      in_pieces_of_every_loop<aggregator::SlotStatus, aggregator::SlotPlace>(sw, look, kMostSlots);
  sort_by_job(sw, slots, &aggregator::SlotStatus::job);
  if (slots.size() > kMostSlots) slots.resize(kMostSlots);
  return slots;
}

ordered_json mac_of(const wire::UdpPeer& peer) {
  if (peer.ipv4 == 0) return {};
  return peer.is_routed() ? "routed" : config::format_mac(peer.mac);
}

// A UDP port behind the address, or a queue pair.
std::string address_of(const Endpoint& peer) {
  if (peer.front_end() == FrontEndId::rdma)
    return config::format_ipv4(ipv4_of(peer.node())) + " qp " +
           std::to_string(peer.flow() & wire::kMaxQpn);
  return config::format_ipv4(ipv4_of(peer.node())) + ":" + std::to_string(peer.flow());
}

ordered_json vlan_of(const std::optional<std::uint16_t>& tci) {
  return tci ? ordered_json(*tci & 0x0FFF) : ordered_json();
}

ordered_json refusal_of(const aggregator::JoinRefusal& refusal) {
  if (refusal.why == wire::Reason::none) return {};
  std::string text = wire::name_of(refusal.why);
  if (refusal.why == wire::Reason::open_refused)
    return text + ": switch " + std::to_string(refusal.above) + " says that " +
           config::text_of({static_cast<wire::OpenLimit>(refusal.below),
                            refusal.further_planes_below, refusal.further_planes_above});
  if (refusal.why == wire::Reason::other_run)
    return text + ": rank " + std::to_string(refusal.below) + " at " +
           config::format_ipv4(refusal.above) + ":" + std::to_string(refusal.further_planes_below) +
           " waits for another run";
  if (refusal.why != wire::Reason::planes_mismatch) return text;
  const auto planes = [](std::uint32_t id, std::uint32_t further) {
    return "switch " + std::to_string(id) + " has " + std::to_string(std::uint64_t{further} + 1);
  };
  return text + ": " + planes(refusal.below, refusal.further_planes_below) + ", " +
         planes(refusal.above, refusal.further_planes_above);
}

// Those that joined count while the epoch forms.
std::ptrdiff_t here(const aggregator::JobStatus& job) {
  return std::count_if(job.members.begin(), job.members.end(),
                       [](const auto& member) { return member.present; });
}

// At most so long; in ns.
std::uint64_t pause_p99(const aggregator::JobCounters& counters) {
  return counters.pauses.percentile(99, std::uint64_t{1} << 35);
}

std::uint64_t aborts(const aggregator::JobCounters& counters) {
  std::uint64_t all = 0;
  for (const AbortMetric& metric : kAbortMetrics) all += (counters.*metric.counter).get();
  return all;
}

}  // namespace

ordered_json show_jobs(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  const auto placed = sw.jobs();
  const auto status = job_status(sw);
  for (const dataplane::LoopJob& p : placed) {
    const auto& job = p.config();
    // There may be more: a loop that was late until just now has told of its jobs, too.
    const auto of_job = std::find_if(status.begin(), status.end(), [&](const auto& one) {
      return one.id == job.id && one.plane == job.plane;
    });
    if (of_job == status.end()) continue;
    const aggregator::JobCounters c = p.engine().counters(p.index);
    std::uint64_t escalations = 0;
    for (const Counter& reason : c.escalations) escalations += reason.get();
    rows.push_back({{"job", job.id},
                    {"name", job.name},
                    {"plane", job.plane},
                    {"lcore", p.lcore},
                    {"state", aggregator::name_of(of_job->state)},
                    {"epoch", of_job->epoch},
                    {"workers", config::resizes(job) ? of_job->members.size() : job.workers},
                    {"present", here(*of_job)},
                    {"slots_open", c.slots_open.get()},
                    {"slots_high_water", c.slots_high_water.get()},
                    {"contributions", c.contributions.get()},
                    {"completions", c.completions.get()},
                    {"duplicates", c.duplicates.get()},
                    {"probes", c.probes.get()},
                    {"resends", c.resends.get()},
                    {"results_resent", c.results_resent.get()},
                    {"collisions", c.collisions.get()},
                    {"escalations", escalations},
                    {"host_results", c.host_results.get()},
                    {"degraded_results", c.degraded.get()},
                    {"overflows", c.saturated.get()},
                    {"marked_data", c.marked_data.get()},
                    {"slot_marks", c.slot_marks.get()},
                    {"marked_results", c.marked_results.get()},
                    {"drains", c.drains.get()},
                    {"drained_by", c.drained_by.get()},
                    {"drained_at", c.drained_at.get()},
                    {"retries", c.retries.get()},
                    {"last_pause_us", c.last_pause_ns.get() / 1000},
                    {"pause_p99_us", pause_p99(c) / 1000},
                    {"held", of_job->held},
                    {"open", job.open.has_value()},
                    {"aborts", aborts(c)},
                    {"last_abort", wire::name_of(of_job->last_abort)},
                    {"last_abort_ranks", of_job->last_abort_ranks}});
  }
  return rows;
}

ordered_json show_members(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  for (const auto& job : job_status(sw))
    for (const auto& member : job.members) {
      const wire::UdpPeer peer(member.peer);
      const bool known = member.peer.is_known();
      rows.push_back({{"job", job.id},
                      {"plane", job.plane},
                      {"rank", member.rank},
                      {"present", member.present},
                      {"port", or_null(known, sw.port_name(peer.port))},
                      {"address", or_null(known, address_of(member.peer))},
                      {"mac", mac_of(peer)},
                      {"vlan", vlan_of(peer.vlan_tci)},
                      {"silent_ms", or_null(member.present, milliseconds(member.silent_for))},
                      {"held_before", member.held_before}});
    }
  return rows;
}

// This switch's place in each job: the one above it, and its children in their order.
ordered_json show_tree(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  for (const auto& job : job_status(sw)) {
    if (const auto& up = job.upstream)
      rows.push_back({{"job", job.id},
                      {"plane", job.plane},
                      {"node", up->name},
                      {"is", "parent"},
                      {"index", up->child},
                      {"of", up->fan_in},
                      {"port", up->uplink},
                      {"state", up->state},
                      {"ranks", ordered_json()},
                      {"refused", refusal_of(up->refusal)}});
    for (std::size_t k = 0; k < job.members.size(); ++k) {
      const auto& m = job.members[k];
      const bool known = m.peer.is_known();
      rows.push_back({{"job", job.id},
                      {"plane", job.plane},
                      {"node", (m.is_switch ? "switch " : "rank ") + std::to_string(m.rank)},
                      {"is", m.is_switch ? "switch" : "worker"},
                      {"index", k},
                      {"of", job.members.size()},
                      {"port", or_null(known, sw.port_name(m.peer.port()))},
                      {"state", m.present ? "present"
                                : m.waits ? "waiting"
                                          : "absent"},
                      {"ranks", m.ranks},
                      {"refused", ordered_json()}});
    }
  }
  return rows;
}

ordered_json show_slots(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  for (const auto& slot : slot_status(sw)) {
    rows.push_back({{"job", slot.job},
                    {"plane", slot.plane},
                    {"shard", slot.shard},
                    {"slot", or_null(slot.holds_slot, slot.slot)},
                    {"op", slot.op},
                    {"chunk", slot.chunk},
                    {"seq", slot.seq},
                    {"state", slot.sent ? "sent" : "open"},
                    {"arrived", slot.arrived},
                    {"fan_in", slot.fan_in},
                    {"open_ms", milliseconds(slot.open_for)},
                    {"missing", slot.missing}});
  }
  return rows;
}

}  // namespace tributary::control
