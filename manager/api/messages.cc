#include "manager/api/messages.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <cmath>

#include "config/topology/topology_tree.h"
#include "core/utf8.h"
#include "manager/topology/worker_address.h"

namespace tributary::manager {
namespace {

constexpr std::size_t kMostPorts = 1024;
constexpr std::size_t kMostJobs = 4096;
constexpr std::size_t kMostChildren = 65'536;
constexpr std::size_t kMostSeats = 65'536;
constexpr std::size_t kMostText = 64;
constexpr std::size_t kMostProblem = 1024;

v1::JobState state_of(Phase phase) {
  switch (phase) {
    case Phase::queued: return v1::QUEUED;
    case Phase::starting: return v1::STARTING;
    case Phase::running: return v1::RUNNING;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

// The name of the switch, worker or server behind a port; empty: none.
std::string behind(const config::Topology& topology, const config::TopologySwitch& sw,
                   const std::string& port) {
  if (!sw.parent.empty() && sw.uplink == port) return sw.parent;
  for (const auto& other : topology.switches)
    if (other.parent == sw.config.name && other.parent_port == port) return other.config.name;
  for (const auto& worker : topology.workers)
    if (worker.attached_to == sw.config.name && worker.port == port) return worker.name;
  for (const auto& server : topology.servers)
    if (server.attached_to == sw.config.name && server.port == port) return server.config.name;
  return "";
}

void fill_cables(const SwitchState& from, v1::Switch& to) {
  to.mutable_wrong_cables()->Add(from.wrong_cables.begin(), from.wrong_cables.end());
  if (!from.last.neighbours) return;
  for (const Neighbour& neighbour : *from.last.neighbours)
    for (v1::Port& port : *to.mutable_ports())
      if (port.name() == neighbour.port)
        port.set_heard(neighbour.system + "." + neighbour.its_port);
}

void fill(const Cluster::View& view, const config::TopologySwitch& from, v1::Switch& to) {
  const Admission& admission = view.service.admission();
  const std::string& name = from.config.name;
  to.set_name(name);
  to.set_id(from.config.id);
  to.set_parent(from.parent);
  to.set_uplink(from.uplink);
  for (const auto& way : from.other_uplinks) to.add_other_uplinks(way.uplink);
  const Amount capacity = admission.amounts().capacity_at(name);
  const Amount used = admission.amounts().used_at(name);
  to.set_slots(static_cast<std::uint32_t>(capacity.slots));
  to.set_slots_used(static_cast<std::uint32_t>(used.slots));
  to.set_bytes(capacity.bytes);
  to.set_bytes_used(used.bytes);
  for (const auto& port : from.config.ports) {
    v1::Port& added = *to.add_ports();
    added.set_name(port.name);
    added.set_to(behind(admission.topology(), from, port.name));
  }
  const auto at = view.switches.find(name);
  if (at == view.switches.end()) return;
  fill_cables(at->second, to);
  to.set_connected(at->second.session != 0);
  to.set_version(at->second.program);
  const SwitchReport& last = at->second.last;
  to.set_term(last.applied.term);
  to.set_revision(last.applied.revision);
  to.set_problem(last.problem);
  for (const auto& [id, present] : last.jobs) to.add_jobs(id);
}

// Sorting and medians of what is no number have no order.
double milliseconds(double value) {
  return std::isfinite(value) ? std::max(value, 0.0) : 0.0;
}

Lateness lateness_of(const v1::Lateness& from) {
  Lateness to;
  to.job = from.job();
  to.ranks.assign(from.ranks().begin(), from.ranks().end());
  to.is_switch = from.is_switch();
  to.ops = from.ops();
  to.mean_ms = milliseconds(from.mean_ms());
  to.max_ms = milliseconds(from.max_ms());
  to.last_ms = milliseconds(from.last_ms());
  to.missed_deadlines = from.missed_deadlines();
  to.excluded = bounded(from.excluded(), kMostText);
  if (from.has_first()) to.first = from.first();
  if (from.has_last()) to.last = from.last();
  return to;
}

// Parents before their children.
void add_below(const Cluster::View& view, const std::string& parent, v1::TopologyReply& to) {
  for (const auto& sw : view.service.admission().topology().switches) {
    if (sw.parent != parent) continue;
    fill(view, sw, *to.add_switches());
    add_below(view, sw.config.name, to);
  }
}

HostSeat seat_of(const v1::HostSeat& from) {
  return {.job = from.job(),
          .shard = from.shard(),
          .host = bounded(from.host(), kMostText),
          .state = bounded(from.state(), kMostText),
          .chosen = bounded(from.chosen(), kMostText)};
}

// Adds the job's completion hosts, if the switch is its root.
void fill_seats(const Cluster::View& view, const std::string& node, const Job& job, v1::Job& to) {
  const auto at = view.switches.find(node);
  if (at == view.switches.end() || !at->second.last.seats || !job.admitted()) return;
  for (const HostSeat& seat : *at->second.last.seats) {
    if (seat.job != job.id) continue;
    v1::CompletionHost& added = *to.add_completion();
    added.set_shard(seat.shard);
    added.set_host(seat.host);
    added.set_state(seat.state);
    added.set_chosen(seat.chosen);
    added.set_ranking(view.hosts.reason(job.id));
  }
}

}  // namespace

std::string bounded(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = 0;
  for (std::size_t next = 1; end < most; end = next) {
    next = end + std::max<std::size_t>(utf8_length(text.substr(end)), 1);
    if (next > most) break;
  }
  return std::string(text.substr(0, end));
}

void fill(const Cluster::View& view, const Job& from, v1::Job& to) {
  const config::Topology& topology = view.service.admission().topology();
  const auto missing = missing_switches(from, view.switches);
  to.set_name(from.request.job.config.name);
  to.set_tenant(from.request.tenant);
  to.set_id(from.id);
  to.set_state(state_of(phase_of(from, view.switches)));
  to.set_waits_for(from.admitted() ? boost::algorithm::join(missing, ", ") : from.waits_for);
  to.set_stray(from.stray);
  to.set_priority(from.request.priority);
  to.set_workers(from.request.job.config.workers);
  to.set_request(dump(from.request));
  if (from.placed)
    for (const auto& member : config::members_of(topology, *from.placed)) {
      v1::Member& added = *to.add_members();
      added.set_rank(member.rank);
      added.set_worker(member.worker);
      added.set_address(address_of(topology, member.worker));
    }
  for (const auto& [node, need] : from.needs) {
    v1::SwitchShare& share = *to.add_switches();
    share.set_name(node);
    share.set_slots(static_cast<std::uint32_t>(need.slots));
    share.set_bytes(need.bytes);
    share.set_told(std::find(missing.begin(), missing.end(), node) == missing.end());
    fill_seats(view, node, from, to);
  }
}

void fill(const Move& from, v1::MoveReply& to) {
  to.set_name(from.node);
  to.set_from(from.from);
  to.set_to(from.to);
  to.set_waits_for(from.waits_for());
}

void fill(const Event& from, v1::Event& to) {
  to.set_sequence(from.sequence);
  to.set_time_ms(from.time_ms);
  to.set_kind(from.kind);
  to.set_job(from.job);
  to.set_tenant(from.tenant);
  to.set_id(from.id);
  to.set_reason(from.reason);
}

void fill(const Cluster::View& view, v1::TopologyReply& to) {
  to.set_term(view.service.version().term);
  to.set_revision(view.service.version().revision);
  add_below(view, "", to);
  if (view.service.move()) fill(*view.service.move(), *to.mutable_move());
  const Admission& admission = view.service.admission();
  for (const auto& worker : admission.topology().workers) {
    v1::Worker& added = *to.add_workers();
    added.set_name(worker.name);
    added.set_attached_to(worker.attached_to);
    added.set_port(worker.port);
    added.set_drained(view.service.drained().contains(worker.name));
    for (const auto& [name, job] : admission.jobs()) {
      if (!job.placed) continue;
      const auto members = config::members_of(admission.topology(), *job.placed);
      if (std::any_of(members.begin(), members.end(),
                      [&](const auto& member) { return member.worker == worker.name; }))
        added.add_jobs(name);
    }
  }
}

SwitchRegistration registration_of(const v1::Registration& from) {
  SwitchRegistration to;
  to.name = from.name();
  to.id = from.id();
  to.address = from.address();
  for (const std::string& port : from.ports())
    if (to.ports.size() < kMostPorts) to.ports.push_back(port);
  to.program = from.version();
  to.slots = from.slots();
  to.bytes = from.bytes();
  return to;
}

void fill(const Straggler& from, v1::Straggler& to) {
  to.set_job(from.job);
  to.set_rank(from.rank);
  to.set_worker(from.worker);
  to.set_reported_by(from.at);
  to.set_ops(from.lateness.ops);
  to.set_mean_ms(from.lateness.mean_ms);
  to.set_max_ms(from.lateness.max_ms);
  to.set_last_ms(from.lateness.last_ms);
  to.set_missed_deadlines(from.lateness.missed_deadlines);
  to.set_excluded(from.lateness.excluded);
  to.set_everywhere(from.everywhere);
  if (from.lateness.first) to.set_first(*from.lateness.first);
  if (from.lateness.last) to.set_last(*from.lateness.last);
}

SwitchReport report_of(const v1::Report& from) {
  SwitchReport to;
  to.applied = {from.term(), from.revision()};
  for (const v1::JobInForce& job : from.jobs())
    if (to.jobs.size() < kMostJobs) to.jobs[job.id()] = job.present();
  to.problem = bounded(from.problem(), kMostProblem);
  to.refused = from.refused();
  to.refused_revision = from.refused_revision();
  if (from.has_bytes_per_second()) to.load = from.bytes_per_second();
  if (from.has_hosts()) {
    to.seats.emplace();
    for (const v1::HostSeat& seat : from.hosts().seats())
      if (to.seats->size() < kMostSeats) to.seats->push_back(seat_of(seat));
  }
  if (from.has_neighbours()) {
    to.neighbours.emplace();
    for (const v1::Neighbour& heard : from.neighbours().neighbours())
      if (to.neighbours->size() < kMostPorts)
        to.neighbours->push_back({bounded(heard.port(), kMostText),
                                  bounded(heard.system(), kMostText),
                                  bounded(heard.its_port(), kMostText)});
  }
  if (!from.has_lateness()) return to;
  to.lateness.emplace();
  for (const v1::Lateness& child : from.lateness().children())
    if (to.lateness->size() < kMostChildren) to.lateness->push_back(lateness_of(child));
  return to;
}

}  // namespace tributary::manager
