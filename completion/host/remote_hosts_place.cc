// Placement of completion hosts (T11), and the names of a seat's states and reasons.
#include "completion/host/remote_hosts.h"

namespace tributary::completion {

const char* name_of(SeatState state) {
  switch (state) {
    case SeatState::idle: return "idle";
    case SeatState::asking: return "asking";
    case SeatState::serving: return "serving";
    case SeatState::here: return "here";
    case SeatState::vacant: return "vacant";
  }
  return "?";
}

const char* name_of(Chosen why) {
  switch (why) {
    case Chosen::policy: return "policy";
    case Chosen::requested: return "requested";
    case Chosen::gone: return "gone";
    case Chosen::restarted: return "restarted";
    case Chosen::refused: return "refused";
  }
  return "?";
}

HostPlacement RemoteHosts::place_host(const HostRanking& ranking, Instant now, Outbox& box) {
  HostJob* const job = by_id_.find(ranking.job);
  if (job == nullptr || ranking.hosts.size() != job->hosts.size()) return {};
  for (std::size_t host = 0; host < job->hosts.size(); ++host) {
    job->candidates[host].load = ranking.hosts[host].load;
    job->candidates[host].shortlisted = ranking.hosts[host].shortlisted;
  }
  job->rank();
  job->counters.placements.add();
  HostPlacement placement{true, 0};
  for (Seat& seat : job->seats) {
    const std::size_t first = job->first_place(seat.shard);
    const auto best = find_alive(*job, first, now);
    if (!best || seat.state == SeatState::here) continue;
    // A host that notifies ranks itself keeps its shard until the epoch ends.
    if (job->notify != wire::Notify::root && seat.state != SeatState::idle) continue;
    const bool stays = *best == seat.host && seat.state != SeatState::vacant;
    if (!stays && seat.state == SeatState::idle) appoint(*job, seat, *best);
    if (!stays && seat.state != SeatState::idle) {
      // Messages that the former host still sends belong to a term that is over.
      if (seat.state != SeatState::vacant) say_leave(*job, seat, box);
      take_over(*job, seat, first, Chosen::requested, now, box);
    }
    seat.chosen = Chosen::requested;
    if (!stays) ++placement.moved;
  }
  return placement;
}

}  // namespace tributary::completion
