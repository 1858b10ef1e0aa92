// One job with completion hosts outside the root, as RemoteHosts keeps it: its hosts, and the host
// of each shard. Internal to RemoteHosts; other code reads counters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/chunk/outbox.h"
#include "config/model/host_choice.h"
#include "core/counter.h"
#include "core/time.h"
#include "core/wire/types.h"

namespace tributary::completion {

struct HostCounters {
  Counter sent;           // messages handed to a host
  Counter results;        // results accepted from one
  Counter unserved;       // messages without a host to send them to
  Counter takeovers;      // changes of host while an epoch ran
  Counter restarts;       // hosts that came back without state
  Counter refusals;       // hosts that refused the job
  Counter stale_terms;    // answers of an earlier term
  Counter wrong_senders;  // from an address or port that is not the host's
  Counter announced;      // chunks announced to a host that took over
  Counter placements;     // placements that a caller asked for
};

enum class SeatState : std::uint8_t { idle, asking, serving, here, vacant };
const char* name_of(SeatState state);

// Why the current host serves.
enum class Chosen : std::uint8_t {
  policy,     // the first host in the job's order that is alive
  requested,  // a caller asked for a placement
  gone,       // the host before it is silent, or has left
  restarted,  // it restarted without state
  refused,    // the host before it refused the job, or gave it up
};
const char* name_of(Chosen why);

// For `show hosts`.
struct SeatStatus {
  std::uint32_t job = 0;
  std::uint8_t shard = 0;
  std::string host;  // by its name in the configuration
  std::uint32_t term = 0;
  SeatState state = SeatState::idle;
  config::HostChoice choice = config::HostChoice::fixed;
  Chosen chosen = Chosen::policy;
  std::optional<Duration> silent_for;  // of the host; none: never heard of
};

struct Host {
  std::string name;
  std::uint32_t ipv4 = 0;
  std::optional<std::uint16_t> port;  // the only one it may be behind
  bool known = false;                 // it has sent a hello, and has not left
  bool refused = false;               // it refuses the job until it restarts
  Endpoint peer;
  std::uint64_t nonce = 0;
  Instant heard;
  Instant passed_over_until;  // it sends hellos, but does not do its work
};

// Which incarnation of a host a START is for: the low half of the nonce in its hello.
constexpr std::uint32_t incarnation_of(std::uint64_t nonce) {
  return static_cast<std::uint32_t>(nonce);
}

// The state of one shard: the host that finishes its chunks.
struct Seat {
  std::uint8_t shard = 0;
  SeatState state = SeatState::idle;
  std::size_t host = 0;  // in HostJob::hosts; the last one while here or vacant
  std::uint32_t term = 0;
  Chosen chosen = Chosen::policy;
  std::uint16_t epoch = 0;  // 0: none runs
  bool answered = false;    // in this epoch some host has taken the seat
  Instant asked;            // when START was sent last
  Instant heard;            // from the host, about this seat; or the time of the first START
  std::optional<Instant> unserved_since;
  std::optional<std::uint32_t> announce_from;  // seq; none: nothing is left to announce
};

struct HostJob {
  std::uint32_t id = 0;
  std::uint64_t nonce = 0;  // tells incarnations of the job at this switch apart
  bool root_is_last = false;
  bool retries_floats = false;  // overflowed sums are sent again as floats (rule 12)
  bool degrades = false;        // results may lack ranks (rule 21)
  std::vector<Host> hosts;
  std::vector<Seat> seats;  // by shard
  // True if some host has taken a seat in this epoch, for any shard.
  [[nodiscard]] bool answered(std::uint16_t epoch) const {
    return std::ranges::any_of(seats,
                               [epoch](const Seat& s) { return s.epoch == epoch && s.answered; });
  }
  HostCounters counters;

  // The job's policy for choosing hosts (T11); if a host falls silent, the next in the order takes
  // over.
  config::HostChoice choice = config::HostChoice::fixed;
  wire::Notify notify = wire::Notify::root;       // T9
  std::vector<config::HostCandidate> candidates;  // by host
  std::vector<std::size_t> order;                 // hosts, best first

  // The place in the order at which a shard's search begins, and the place of a host.
  [[nodiscard]] std::size_t first_place(std::uint8_t shard) const {
    // START names one host, and workers accept only that one.
    const bool shared = choice == config::HostChoice::fixed && notify != wire::Notify::direct;
    return shared ? shard % order.size() : 0;
  }
  [[nodiscard]] std::size_t place_of(std::size_t host) const {
    return static_cast<std::size_t>(std::find(order.begin(), order.end(), host) - order.begin());
  }
  void rank() { config::order_hosts(choice, id, candidates, order); }
};

// The operator's ranking of a job's hosts, by their place among its `completion_hosts`, without the
// root.
struct HostRanking {
  struct Entry {
    std::optional<std::uint32_t> load;  // in any unit, the same for all
    bool shortlisted = false;
  };
  std::uint32_t job = 0;
  std::vector<Entry> hosts;
};

struct HostPlacement {
  bool held = false;        // false: the job has no such hosts here
  std::uint32_t moved = 0;  // shards that changed their host
};

}  // namespace tributary::completion
