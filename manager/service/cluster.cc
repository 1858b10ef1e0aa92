#include "manager/service/cluster.h"

#include <algorithm>
#include <array>
#include <boost/algorithm/string/join.hpp>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "manager/service/wall_clock.h"

namespace tributary::manager {
Cluster::Cluster(Store& store, Service::Setup setup, Instant now, Listener listener)
    : service_(store, std::move(setup), now), listener_(std::move(listener)) {
  tell_strays();
}

void Cluster::tell_strays() {
  for (const auto& [name, job] : service_.admission().jobs())
    if (!job.stray.empty())
      tell({.kind = "stray",
            .job = name,
            .tenant = job.request.tenant,
            .id = job.id,
            .reason = job.stray});
}

void Cluster::tell(Event event) {
  event.sequence = next_event_++;
  event.time_ms = wall_clock_ms();
  if (listener_) listener_(event);
  events_.push_back(std::move(event));
  if (events_.size() > kKeptEvents) events_.pop_front();
}

void Cluster::tell(const Decision& decision) {
  tell({.kind = name_of(decision.outcome),
        .job = decision.job,
        .tenant = decision.tenant,
        .id = decision.id,
        .reason = decision.reason});
}

// A store that fails is told of once; advance() finds out when it works again.
template <typename Function>
auto Cluster::guarded(Function function) {
  const std::lock_guard lock(mutex_);
  try {
    return function();
  } catch (const StoreError& error) {
    if (trouble_ != error.what()) tell({.kind = "store", .reason = error.what()});
    trouble_ = error.what();
    throw;
  }
}

void Cluster::refresh() {
  std::set<std::uint32_t> running;
  for (const auto& [name, job] : service_.admission().jobs()) {
    if (phase_of(job, switches_) != Phase::running) continue;
    running.insert(job.id);
    if (!running_.contains(job.id))
      tell({.kind = "running",
            .job = name,
            .tenant = job.request.tenant,
            .id = job.id,
            .reason = "all its switches have it"});
  }
  running_ = std::move(running);
  ++generation_;
  changed_.notify_all();
}

void Cluster::advance_locked(Instant now) {
  const auto decisions = service_.advance(now);
  for (const Decision& decision : decisions) tell(decision);
  if (!decisions.empty()) refresh();
}

Decision Cluster::submit(std::string_view text, const std::string& file_name, Instant now) {
  return guarded([&] {
    Decision told = service_.submit(text, file_name, now);
    tell(told);
    if (told.outcome == Outcome::refused) return told;
    advance_locked(now);
    const auto& jobs = service_.admission().jobs();
    if (const auto at = jobs.find(told.job); at != jobs.end()) {
      told.id = at->second.id;
      told.outcome = at->second.admitted() ? Outcome::admitted : Outcome::queued;
      told.reason = at->second.waits_for;
    }
    refresh();
    return told;
  });
}

std::optional<Decision> Cluster::cancel(const std::string& name, Instant now,
                                        const std::string& reason) {
  return guarded([&] {
    const auto& jobs = service_.admission().jobs();
    if (const auto job = jobs.find(name); job != jobs.end() && !job->second.owner.empty())
      throw std::invalid_argument("job " + name + " ends with the pods of podgroup " +
                                  job->second.owner + "; delete these");
    auto told = service_.cancel(name, now, reason);
    if (!told) return told;
    tell(*told);
    advance_locked(now);
    refresh();
    return told;
  });
}

void Cluster::set_setup(Service::Setup setup, Instant now) {
  guarded([&] {
    service_.set_setup(std::move(setup), now);
    for (auto& [node, state] : switches_) state.session = 0;
    stayed_ = "the topology was read again";
    tell({.kind = "topology", .reason = "read again, and the tenants with it"});
    tell_strays();
    advance_locked(now);
    refresh();
  });
}

std::vector<std::string> Cluster::drain(const std::string& name, bool drained, Instant now) {
  return guarded([&] {
    std::vector<std::string> workers;
    const config::Topology& topology = service_.admission().topology();
    for (const auto& worker : topology.workers)
      if (worker.name == name || worker.attached_to == name) workers.push_back(worker.name);
    if (workers.empty())
      throw std::invalid_argument("no worker, nor a switch with workers, is called " + name);
    service_.drain(workers, drained, now);
    tell({.kind = "drain",
          .reason = boost::algorithm::join(workers, ", ") +
                    (drained ? " get no new jobs" : " get jobs again")});
    advance_locked(now);
    refresh();
    return workers;
  });
}

void Cluster::use_uplink(const std::string& node, const std::string& uplink, Instant now) {
  guarded([&] {
    std::set<std::string> present;
    for (const auto& [name, state] : switches_)
      if (state.session != 0) present.insert(name);
    const std::uint64_t before = service_.version().revision;
    const std::optional<Move> was = service_.move();
    service_.use_uplink(node, uplink, present, now);
    if (service_.version().revision == before) return;
    const std::optional<Move>& move = service_.move();
    if (move)
      tell({.kind = "move",
            .reason = move->node + " moves from " + move->from + " to " + move->to +
                      ", and waits for " + move->waits_for()});
    else if (was)
      tell({.kind = "move", .reason = stayed_ = was->node + " stays at " + uplink + ": asked"});
    refresh();
  });
}

// The switch that a move waits for has its document, or has refused it.
void Cluster::tend_move(const std::string& node, const SwitchReport& report, Instant now) {
  if (!service_.move() || node != service_.move()->waits_for()) return;
  const Move move = *service_.move();
  // A switch that has the move's document may have refused a later one.
  if (report.applied.term == service_.version().term && report.applied.revision >= move.since) {
    service_.go_on_moving(now);
    if (move.is_open())
      tell({.kind = "move",
            .reason = move.node + " has moved from " + move.from + " to " + move.to});
  } else if (report.refused && report.refused_revision >= move.since) {
    service_.give_up_moving(now);
    stayed_ = move.node + " stays at " + move.from + ": " + node + ": " + report.problem;
    tell({.kind = "move", .reason = stayed_});
  } else {
    return;
  }
  advance_locked(now);
  refresh();
}

void Cluster::join(const std::function<void(PodJobs&)>& use, Instant now) {
  guarded([&] {
    PodJobs jobs(service_, switches_, now);
    // Tells decisions that are in the store also where a later commit fails.
    const auto tell_all = [&] {
      for (const Decision& decision : jobs.decisions()) tell(decision);
      if (!jobs.decisions().empty()) refresh();
    };
    try {
      use(jobs);
    } catch (...) {
      tell_all();
      throw;
    }
    tell_all();
  });
}

void Cluster::advance(Instant now) {
  guarded([&] {
    service_.check(now, !trouble_.empty());
    if (!std::exchange(trouble_, "").empty()) tell({.kind = "store", .reason = "works again"});
    advance_locked(now);
    rank_hosts(now);
  });
}

// At each turn of the manager: a host may be away, and none tells of it.
void Cluster::rank_hosts(Instant now) {
  HostRanking::Look look;
  for (const auto& [name, state] : switches_) {
    if (state.session == 0) continue;
    if (state.last.load) look.loads[name] = *state.last.load;
    if (state.last.seats)
      look.seats.insert(look.seats.end(), state.last.seats->begin(), state.last.seats->end());
  }
  const auto decisions = hosts_.judge(service_.admission(), look, now);
  for (const HostRanking::Ranked& ranked : decisions)
    tell({.kind = "host",
          .job = ranked.job,
          .tenant = ranked.tenant,
          .id = ranked.id,
          .reason = ranked.reason});
  if (decisions.empty()) return;
  ++generation_;
  changed_.notify_all();
}

std::uint64_t Cluster::attend(const SwitchRegistration& registration, Instant now) {
  return guarded([&] {
    const std::string wrong = mismatch(service_.admission().topology(), registration);
    if (!wrong.empty()) {
      if (refusals_.size() > kKeptEvents) refusals_.clear();
      if (std::exchange(refusals_[registration.name], wrong) != wrong)
        tell({.kind = "switch", .reason = "refused: " + wrong});
      throw std::invalid_argument(wrong);
    }
    refusals_.erase(registration.name);
    SwitchState& state = switches_[registration.name];
    state.session = next_session_++;
    state.program = registration.program;
    service_.switch_has(registration.name, registration.slots, registration.bytes, now);
    tell({.kind = "switch", .reason = registration.name + " is there"});
    refresh();
    return state.session;
  });
}

bool Cluster::report(const std::string& node, std::uint64_t session, SwitchReport report,
                     Instant now) {
  return guarded([&] {
    SwitchState& state = switches_[node];
    if (state.session != session) return false;
    const bool judged = report.lateness.has_value();
    SwitchReport before = std::exchange(state.last, std::move(report));
    const SwitchReport& last = state.last;
    if (!last.lateness) state.last.lateness = std::move(before.lateness);
    if (!last.seats) state.last.seats = before.seats;
    if (!last.load) state.last.load = before.load;
    if (!last.neighbours)
      state.last.neighbours = std::move(before.neighbours);
    else
      judge_cables(node, state);
    const bool news = before.applied != last.applied || before.jobs != last.jobs ||
                      before.problem != last.problem || before.seats != last.seats;
    if (!last.problem.empty() && before.problem != last.problem)
      tell({.kind = "switch", .reason = node + ": " + last.problem});
    std::vector<std::string> present;
    for (const auto& [name, job] : service_.admission().jobs()) {
      const auto at = last.jobs.find(job.id);
      if (job.admitted() && at != last.jobs.end() && at->second > 0) present.push_back(name);
    }
    service_.renew(present, now);
    tend_move(node, last, now);
    refused_by(node, last, now);
    if (judged) judge_stragglers();
    if (news) refresh();
    return true;
  });
}

void Cluster::judge_cables(const std::string& node, SwitchState& state) {
  const auto is = wrong_cables(service_.admission().topology(), node, *state.last.neighbours);
  const auto was = std::exchange(state.wrong_cables, is);
  for (const std::string& wrong : is)
    if (std::find(was.begin(), was.end(), wrong) == was.end())
      tell({.kind = "cable", .reason = node + ": " + wrong});
  if (is.empty() && !was.empty())
    tell({.kind = "cable", .reason = node + ": its cables lead where the topology says"});
}

void Cluster::tell_exclusion(const Straggler& rank, bool excluded) {
  std::array<char, 32> figure{};
  std::snprintf(figure.data(), figure.size(), "%.3g", rank.lateness.mean_ms);
  tell({.kind = "straggler",
        .job = rank.job,
        .tenant = rank.tenant,
        .id = rank.lateness.job,
        .reason = "rank " + std::to_string(rank.rank) + " (" + rank.worker + ") at " + rank.at +
                  (excluded ? " is to be excluded: " : " is to take part again: ") + figure.data() +
                  " ms behind over " + std::to_string(rank.lateness.ops) + " ops"});
}

void Cluster::judge_stragglers() {
  LatenessBySwitch reports;
  for (const auto& [name, state] : switches_)
    if (state.last.lateness) reports[name] = *state.last.lateness;
  Exclusions wanted = exclusions(service_.admission(), reports);
  if (wanted == exclusions_) return;
  const Exclusions before = std::exchange(exclusions_, std::move(wanted));
  const auto has = [](const Exclusions& all, const Straggler& rank) {
    const auto at = all.find(rank.at);
    if (at == all.end()) return false;
    const auto job = at->second.find(rank.lateness.job);
    return job != at->second.end() && job->second.contains(rank.rank);
  };
  for (const Straggler& rank : worst_first(service_.admission(), reports))
    if (has(before, rank) != has(exclusions_, rank)) tell_exclusion(rank, has(exclusions_, rank));
  ++generation_;
  changed_.notify_all();
}

// Assumes that, of the jobs that the switch does not have, the last to come is the one without
// room.
void Cluster::refused_by(const std::string& node, const SwitchReport& report, Instant now) {
  if (!report.refused || report.refused_revision != service_.version().revision) return;
  const bool is_before = service_.sees_before(node);
  const Job* last = nullptr;
  for (const auto& [name, job] : service_.admission().jobs())
    if (job.admitted() && (is_before ? job.needs_before : job.needs).contains(node) &&
        !report.jobs.contains(job.id) && (last == nullptr || job.sequence > last->sequence))
      last = &job;
  if (last == nullptr) return;
  const Event event = {.kind = "queued",
                       .job = last->request.job.config.name,
                       .tenant = last->request.tenant,
                       .id = last->id,
                       .reason = node + " refused it: " + report.problem};
  service_.switch_refused(node, event.job, now, report.problem);
  tell(event);
  advance_locked(now);
  refresh();
}

void Cluster::leave(const std::string& node, std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  SwitchState& state = switches_[node];
  if (state.session != session) return;
  state.session = 0;
  tell({.kind = "switch", .reason = node + " is away; what it runs, runs on"});
  refresh();
}

bool Cluster::is_over(const std::string& node, std::uint64_t session) const {
  const std::lock_guard lock(mutex_);
  const auto at = switches_.find(node);
  return stopping_ || at == switches_.end() || at->second.session != session;
}

void Cluster::wait_change(std::uint64_t& seen, std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return stopping_ || generation_ != seen; });
  seen = generation_;
}

void Cluster::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

bool Cluster::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

std::string Cluster::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace tributary::manager
