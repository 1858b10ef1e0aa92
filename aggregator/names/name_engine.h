// Data by name in one switch (docs/protocol/names.md): checks puts, answers gets from its cache,
// sends requests on, and lets answers return to all who asked.
//
//   PUT ──▶ checked ──▶ store ──▶ up, or STORED where this is the root
//   GET ──▶ store ──hit──▶ DATA
//             └─miss──▶ pending ──▶ down to where the name came from, or up ──▶ DATA to all
//
// Jobs are known by the configuration; the aggregation engine says who a sender is. Pure: no clock,
// no I/O, no allocation after construction. Owned by one packet loop; other threads may read
// counters.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "aggregator/chunk/child_map.h"
#include "aggregator/chunk/job_index.h"
#include "aggregator/chunk/outbox.h"
#include "aggregator/names/name_store.h"
#include "aggregator/names/pending_table.h"
#include "config/model/switch_config.h"
#include "core/counter.h"
#include "core/drop_reason.h"
#include "core/time.h"
#include "core/wire/data_name.h"
#include "core/wire/header.h"

namespace tributary::aggregator {

// The sender of a packet, as the job's membership has it.
struct NameSender {
  enum class Kind : std::uint8_t { stranger, worker, child_switch, parent };
  Kind kind = Kind::stranger;
  std::uint16_t child = 0;
  const ChildMap* children = nullptr;  // unless it is a stranger or the parent

  [[nodiscard]] bool is_member() const {
    return kind == Kind::worker || kind == Kind::child_switch;
  }
  // True if it is this rank, or has it below.
  [[nodiscard]] bool has(std::uint32_t rank) const {
    return children != nullptr && children->child_of(rank) == child;
  }
};

// Counters of one job; any thread may read.
struct NameCounters {
  Counter puts;       // segments that were put, repetitions included
  Counter hits;       // gets that the cache answered
  Counter misses;     // gets that it did not
  Counter forwarded;  // requests that were sent on
  Counter answered;   // askers who got an answer from elsewhere
  Counter refused;
  Counter expired;  // names
  Counter evicted;  // segments that gave way to others
  Counter unanswered;
};

// The jobs with names of a configuration.
class NamedJobs {
 public:
  explicit NamedJobs(const config::SwitchConfig& config);
  NamedJobs(NamedJobs&&) = default;
  NamedJobs& operator=(NamedJobs&&) = default;

  struct Job {
    std::uint32_t id = 0;
    bool has_parent = false;
    std::uint32_t segment_bytes = 0;
    std::vector<config::IpPrefix> readers;
    std::uint32_t declared = 0;  // names here that count against the job's share
    std::uint32_t pending = 0;
    NameCounters counters;
  };
  [[nodiscard]] Job* find(std::uint32_t id) { return index_.find(id); }
  [[nodiscard]] const std::vector<Job>& all() const { return jobs_; }
  // The jobs that stay go on with their counts.
  void inherit(NamedJobs& before);

 private:
  std::vector<Job> jobs_;
  JobIndex<Job> index_;
};

class NameEngine {
 public:
  NameEngine(const config::SwitchConfig& config, std::uint64_t seed);

  // `packet` is of a type for which wire::concerns_name(), and intact. Appends messages to `out`;
  // their payloads are valid until the next call, and as long as the packet. What goes to the
  // parent lacks this switch's place there, which the caller fills in. Returns why it was dropped.
  DropReason on_packet(const wire::Packet& packet, const Endpoint& from, const NameSender& sender,
                       Instant now, Outbox& out);
  // Forgets requests and names that are too old, some at a time.
  void expire(Instant now);
  // Another configuration. What `next` holds afterwards is the caller's to destroy.
  void apply(NamedJobs& next);

  [[nodiscard]] const NamedJobs& jobs() const { return jobs_; }
  [[nodiscard]] std::uint32_t pending() const { return pending_.size(); }
  // nullptr: the switch has no memory for names.
  [[nodiscard]] const NameStore* store() const { return store_ ? &*store_ : nullptr; }
  // Counts a job's names here, their segments and bytes in the cache, and the oldest. Each call
  // adds what the next `most` entries from `place` on have, and moves `place` on; false: there are
  // no more.
  struct JobUse {
    std::uint32_t names = 0;
    std::uint32_t segments = 0;
    std::uint64_t bytes = 0;
    std::optional<Duration> oldest;
  };
  bool use_of(std::uint32_t job, Instant now, std::uint32_t& place, std::uint32_t most,
              JobUse& use) const;
  [[nodiscard]] std::size_t outbox_capacity() const { return PendingTable::kMaxAskers + 2; }
  static constexpr std::uint32_t kExpirePerTurn = 16;

 private:
  using Job = NamedJobs::Job;
  // A packet with a name that is in order.
  struct Request {
    const wire::Packet& packet;
    const Endpoint& from;
    const NameSender& sender;
    Job& job;
    std::string_view text;
    wire::DataName name;
    std::uint64_t hash = 0;
    std::uint32_t entry = NameStore::kNone;
  };

  DropReason on_put(Request& r, Instant now, Outbox& out);
  DropReason on_get(Request& r, Instant now, Outbox& out);
  DropReason on_stored(Request& r, Instant now, Outbox& out);
  DropReason on_data(Request& r, Instant now, Outbox& out);
  DropReason on_refusal(Request& r, Outbox& out);
  [[nodiscard]] std::optional<wire::Reason> why_not_put(
      const Request& r, const std::optional<wire::ValueInfo>& info) const;
  [[nodiscard]] static bool may_get(const Request& r);
  // The fault of a segment, apart from its sender.
  [[nodiscard]] static std::optional<wire::Reason> why_no_segment(
      const Request& r, const std::optional<wire::ValueInfo>& info);
  // The segments here are of another value of that name. Those that give way are gone then.
  std::optional<wire::Reason> why_of_other_value(const Request& r, const wire::ValueInfo& info,
                                                 Instant now);
  // True if another value may take the place of this entry: nothing has confirmed it in time.
  [[nodiscard]] bool gives_way(std::uint32_t entry, Instant now) const;
  bool declare(Request& r, const wire::ValueInfo& info, Instant now);
  void keep(const Request& r);
  // When a name expires that its sender describes like this.
  [[nodiscard]] Instant end_of(const wire::ValueInfo& info, Instant now) const;
  // The description of an entry for others.
  [[nodiscard]] wire::ValueInfo info_of(std::uint32_t entry, Instant now) const;
  // The entry of a name that has not expired; kNone.
  std::uint32_t find_alive(std::string_view name, std::uint64_t hash, Instant now);
  void forget_expired(std::uint32_t entry);
  // True if the answer comes from where a request for the name goes.
  [[nodiscard]] bool is_from_the_way(const Request& r) const;
  bool send_on(Request& r, Outbox& out);
  DropReason refuse(const wire::Packet& packet, const Endpoint& from, wire::Reason why, Job* job,
                    std::string_view name, Outbox& out);
  static void tell_refusal(const Request& r, const PendingTable::Asker& asker, wire::Reason why,
                           std::uint32_t refused, Outbox& out);
  // False: there is no request for the name.
  bool refuse_askers(const Request& r, wire::Reason why, Outbox& out);
  void remove(std::uint32_t entry);
  static Outgoing* add(wire::PacketType type, std::uint32_t job, std::string_view name,
                       Outbox& out);
  static void address(Outgoing& message, const PendingTable::Asker& asker);
  static void describe(Outgoing& message, const wire::ValueInfo& info);
  static void attach(Outgoing& message, const wire::ValueInfo& info,
                     std::span<const std::byte> payload);

  NamedJobs jobs_;
  std::uint32_t declared_share_ = 0;  // of a job
  std::uint32_t pending_share_ = 0;
  std::uint32_t entries_;
  std::uint32_t rows_;
  Duration ttl_;
  PendingTable pending_;
  std::optional<NameStore> store_;
};

}  // namespace tributary::aggregator
