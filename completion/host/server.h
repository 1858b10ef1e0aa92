// A completion host outside the root switch: the engines of a parameter server, and the state that
// the roots of its jobs set (protocol, "Completion hosts elsewhere").
//
//   START ────────────▶ Seat of (job, shard): epoch, term, engine ──▶ RESULT, PENDING, UNKNOWN,
//   escalated data ───▶                                               ABORT, to that root
//   clock ────────────▶ hello to every root; a silent root's seat ends
//
// A job has one model (T21), whatever the number of its shards: its seats serve one epoch together,
// and when another run begins, the model goes back to the last whole step.
//
// Invariants: a seat serves one epoch under one term, that of the last START; a term that has ended
// never begins again; nor does an incarnation of the root that another one has followed. All
// messages name the term, so that the root can tell them from a former host's. Only packets from
// the job's configured root are accepted.
//
// Pure: no clock, no I/O, no allocation after construction. One thread at a time calls it; other
// threads may read counters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "aggregator/chunk/outbox.h"
#include "completion/engine/engine.h"
#include "completion/model/model.h"
#include "completion/pieces/limits.h"
#include "core/counter.h"
#include "core/endpoint.h"
#include "core/time.h"
#include "core/wire/extension.h"
#include "core/wire/integrity.h"

namespace tributary::completion {

// A job whose chunks the server finishes. `limits` are the whole job's; its memory is divided among
// its shards.
struct ServedJob {
  JobLimits limits;
  std::vector<Endpoint> roots;  // by shard: what the job's root sends from, and is sent to
  std::vector<Endpoint> group;  // by shard: all its ranks, if this host notifies them itself (T9)
  wire::Integrity integrity = wire::Integrity::udp_checksum;
  config::OptimizerConfig optimizer;  // of kind none: the job has no model here
};

struct ServerIdentity {
  std::uint32_t ipv4 = 0;
  std::uint64_t nonce = 1;                 // tells incarnations apart
  Duration heartbeat = Duration::ms(100);  // to every root
};

struct ServerCounters {
  Counter starts;
  Counter ended;          // seats that their root ended
  Counter lapsed;         // seats whose root fell silent
  Counter refused;        // STARTs that the server objects to
  Counter stale_terms;    // STARTs of a term that is over, or for an earlier incarnation
  Counter own_sums;       // sums of the switch itself, taken without the way to the root and back
  Counter wrong_senders;  // from another endpoint than the root's
};

// Why a server refuses a job that its root hands it.
enum class Objection : std::uint8_t {
  none,
  settings,      // the root has other settings for the job
  shared_model,  // the job has a model here, and the root names other hosts, too
};
const char* name_of(Objection why);

// For `show`.
struct ServerSeatStatus {
  std::uint32_t job = 0;
  std::uint8_t shard = 0;
  bool serving = false;
  Objection objection = Objection::none;
  std::uint16_t epoch = 0;
  std::uint32_t term = 0;
  std::optional<Duration> root_silent_for;  // none: never heard of
};

class Server {
 public:
  // Throws std::invalid_argument for limits that make no sense, and shards without an endpoint.
  Server(std::span<const ServedJob> jobs, const ServerIdentity& identity);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // `packet` is parsed and its integrity is verified.
  // Appends messages to `out`, with To::peer, or also To::job_group if the job's host notifies
  // ranks itself (T9); payload spans are valid until the next call. Returns DropReason::none if the
  // packet was of use.
  DropReason on_packet(const wire::Packet& packet, const Endpoint& from, Instant now,
                       aggregator::Outbox& out);
  // A sum of this node, which its root waits for like for any child's (T17). Returns true if it was
  // added to the chunk, which the root had given up before; false if nothing has happened.
  bool take_own(const wire::Packet& escalation, Instant now, aggregator::Outbox& out);
  // Handles heartbeats, deadlines, silent roots. True: call again after sending.
  bool expire(Instant now, aggregator::Outbox& out);
  // Tells every root to find another host.
  void shut_down(aggregator::Outbox& out);

  [[nodiscard]] std::size_t outbox_capacity() const;
  [[nodiscard]] const ServedJob* find_job(std::uint32_t id) const;
  [[nodiscard]] const ServerCounters& counters() const { return counters_; }
  [[nodiscard]] std::size_t seat_count() const { return seats_.size(); }
  // The engine of the seat at this place, for one job with one shard; and the seat's shard.
  [[nodiscard]] const Engine& engine(std::size_t seat) const { return seats_[seat]->engine; }
  [[nodiscard]] std::size_t job_count() const { return jobs_.size(); }
  [[nodiscard]] const ServedJob& job(std::size_t place) const { return jobs_[place]; }
  // The model of the job at this place; nullptr if it has none.
  [[nodiscard]] Model* model(std::size_t place) { return models_[place].get(); }
  [[nodiscard]] const Model* model(std::size_t place) const { return models_[place].get(); }
  [[nodiscard]] std::uint8_t shard_of(std::size_t seat) const { return seats_[seat]->shard; }
  [[nodiscard]] std::vector<ServerSeatStatus> status(Instant now) const;
  [[nodiscard]] std::uint64_t memory_bytes() const;

 private:
  struct Root {
    Instant hello_at;  // when the next hello is due
    std::optional<Instant> heard;
    Duration lease;  // from the last START
    // Incarnations that another one has followed, the latest of them: what they have said comes
    // late.
    std::array<std::uint64_t, 8> former{};
    std::size_t former_count = 0;
  };
  struct Seat {
    Seat(const ServedJob& job, std::size_t place, std::uint8_t shard);
    const ServedJob& job;
    const std::size_t place;  // of the job
    const std::uint8_t shard;
    Engine engine;
    bool serving = false;
    Objection objection = Objection::none;  // to the last term
    std::uint16_t epoch = 0;
    std::uint32_t term = 0;
    std::uint64_t root_nonce = 0;
    Instant heard;
  };

  DropReason on_start(Seat& seat, const wire::Packet& packet, Instant now, aggregator::Outbox& out);
  DropReason on_piece(Seat& seat, const wire::Packet& packet, Instant now, aggregator::Outbox& out);
  DropReason on_leave(Seat& seat, const wire::Packet& packet);
  void end(Seat& seat);
  [[nodiscard]] static bool is_former(const Root& root, std::uint64_t nonce);
  static void retire(Root& root, std::uint64_t nonce);
  // Returns false if that epoch of the job's model is over.
  bool begin_model_epoch(const Seat& seat, std::uint64_t root, std::uint16_t epoch);
  void answer(const Seat& seat, wire::PacketType type, wire::Reason reason,
              aggregator::Outbox& out) const;
  // Completes a message of the engine so that it can be sent.
  static void address(const Seat& seat, aggregator::Outgoing& said);
  // Adds copies of results for the group if the host notifies the job's ranks itself (T9).
  static void add_direct(const Seat& seat, std::size_t first, aggregator::Outbox& out);
  void say_hello(std::size_t job, wire::PacketType type, aggregator::Outbox& out) const;
  static bool agrees(const ServedJob& job, const wire::StartInfo& info);
  static Objection objection(const ServedJob& job, const wire::Header& start,
                             const wire::StartInfo& info);

  ServerIdentity identity_;
  std::vector<ServedJob> jobs_;
  std::vector<Root> roots_;                                    // by job
  std::vector<std::unique_ptr<Model>> models_;                 // by job
  std::unordered_map<std::uint32_t, std::size_t> first_seat_;  // by job id
  std::vector<std::unique_ptr<Seat>> seats_;
  ServerCounters counters_;
};

}  // namespace tributary::completion
