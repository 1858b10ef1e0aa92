// The manager without its shell: admission over a store. Decisions are in the store before any
// caller hears of them, so a manager that is killed at any instant is followed by one that knows as
// much.
//
//   submit, cancel, advance ─▶ admission ─▶ commit ─▶ documents for the switches
//                                              └─ fails: back to what the store has; the caller
//                                                 gets the StoreError, and nothing has changed
//
// One thread. Time is the caller's; leases start anew with each manager.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/topology/assigned.h"
#include "manager/admission/admission.h"
#include "manager/store/store.h"
#include "manager/topology/ways.h"

namespace tributary::manager {

// A switch on its way to another way up. Its jobs are drained, over the old way:
//
//   the new parent opens its port ─▶ those above that gain jobs have them ─▶ the switch has moved
//   ─▶ all others are told, and the old parent closes its port
//
// Until the switch has moved, a refusal leaves everything as it was.
struct Move {
  std::string node;
  std::string from;  // its own ports
  std::string to;
  std::string parent;                   // the new one
  std::vector<std::string> ahead = {};  // told before the switch, in this order: the parent first
  std::size_t ready = 0;                // of these
  std::uint64_t since = 0;              // revision of the documents that wait to be taken

  // The new way is open.
  [[nodiscard]] bool is_open() const { return ready >= ahead.size(); }
  // The switch whose turn it is.
  [[nodiscard]] const std::string& waits_for() const { return is_open() ? node : ahead[ready]; }
};

class Service {
 public:
  struct Setup {
    std::vector<Tenant> tenants;
    Admission::Limits limits;
    config::Topology topology;  // without jobs
  };
  // Takes over what an earlier manager left in the store. Throws StoreError, and std::runtime_error
  // for entries that are damaged.
  Service(Store& store, Setup setup, Instant now);

  // Other tenants, limits and another topology from now on. Jobs stay as over a restart. Throws
  // StoreError; then nothing has changed.
  void set_setup(Setup setup, Instant now);
  // Each throws StoreError. `text` is a request's (job_request.h), or throws config::ConfigErrors.
  Decision submit(std::string_view text, const std::string& file_name, Instant now);
  std::optional<Decision> cancel(const std::string& name, Instant now, const std::string& reason);
  std::vector<Decision> advance(Instant now);
  // As Admission's; not in the store before keep_with().
  Admission::Attempt admit_now(JobRequest request, const std::string& owner, Instant now);
  // Keeps what admit_now() has decided in one commit with what another writer has to write; returns
  // the revisions of that. After a StoreError nothing has changed.
  std::vector<std::uint64_t> keep_with(Writer& other, std::span<const Write> more, Instant now);
  // A switch has refused the document: the job that no running switch has yet waits again, and the
  // switch's room is what it has in use without it. That lasts until a job ends, or for a while
  // that doubles with each refusal: the switch may have been busy.
  void switch_refused(const std::string& node, const std::string& job, Instant now,
                      const std::string& reason);
  // Renews these jobs' leases. Throws StoreError when another manager leads: it decides about them.
  // A store that is gone keeps none from being renewed.
  void renew(std::span<const std::string> names, Instant now);
  // Throws StoreError while the store takes no decision. With `write` it is asked to take one.
  void check(Instant now, bool write);
  // These workers get no new jobs, until `drained` is false; holds over restarts.
  void drain(const std::vector<std::string>& workers, bool drained, Instant now);
  // Capacity as the switch itself has it: less than its figures in the topology, if it is less. A
  // switch that has refused a job may have it from now on.
  void switch_has(const std::string& node, std::uint64_t slots, std::uint64_t bytes, Instant now);
  [[nodiscard]] const std::set<std::string>& drained() const { return drained_; }

  // Begins to move a switch to another of its ways up, with its jobs; holds over restarts. The way
  // that it leaves ends a move whose new way is not open yet. `present`: switches that an agent
  // speaks for. Throws std::invalid_argument where a name is wrong, the switches would be no tree,
  // a job or a switch that is needed for it cannot take part, or another move is under way.
  void use_uplink(const std::string& node, const std::string& uplink,
                  const std::set<std::string>& present, Instant now);
  // The move that is under way, if one is.
  [[nodiscard]] const std::optional<Move>& move() const { return move_; }
  // Whether the switch is to see the tree without the move now.
  [[nodiscard]] bool sees_before(const std::string& node) const;
  // The switch that the move waits for has its document.
  void go_on_moving(Instant now);
  // It has refused that.
  void give_up_moving(Instant now);

  // The version of the documents: grows whenever the running jobs change.
  [[nodiscard]] config::Version version() const;
  // The document of a switch, with the jobs that it takes part in. Throws std::invalid_argument
  // when there is no such switch.
  [[nodiscard]] std::string document(const std::string& node) const;
  [[nodiscard]] const Admission& admission() const { return admission_; }

 private:
  static constexpr const char* kState = "state";

  // A switch that has refused a job.
  struct Refusal {
    Instant until;
    Duration rest;
    bool lasts = true;  // false: it may have jobs, and the next refusal rests longer
  };

  struct Uplinks {
    Ways ways;  // with the one that `move` leads to
    std::optional<Move> move;
  };

  [[nodiscard]] Admission fresh(const config::Topology& topology) const;
  void cap(Admission& admission, const std::string& node) const;
  void forgive_refusals();
  void load(Instant now);
  void go_back_to(std::map<std::string, Entry> stored, Instant now);
  // The same with other ways up than the store has.
  void go_back_to(std::map<std::string, Entry> stored, Uplinks uplinks, Instant now);
  [[nodiscard]] static Uplinks uplinks_in(const std::map<std::string, Entry>& stored);
  // The tree without the move, which ends where the topology has its ways no more.
  [[nodiscard]] static config::Topology before_move(const config::Topology& topology,
                                                    std::optional<Move>& move);
  void add_uplinks(nlohmann::ordered_json& state) const;
  // The port that the switch has open beside the one in use; empty: none.
  [[nodiscard]] std::string open_port_of(const std::string& node) const;
  [[nodiscard]] Ways ways_with(const std::string& node, const std::string& uplink) const;
  [[nodiscard]] std::string trouble_since(const Admission& before) const;
  [[nodiscard]] std::set<std::string> needed_for(const Move& move) const;
  void load_job(const Entry& entry, Instant now, Admission& into) const;
  [[nodiscard]] std::vector<Write> differences() const;
  void forgive_old_refusals(Instant now);
  // The entry of the state, and what has changed; nothing where nothing has.
  [[nodiscard]] std::vector<Write> next_writes(bool state_changed);
  void keep(Instant now, bool state_changed = false);
  void commit(const std::vector<Write>& writes);
  void note(const std::vector<Write>& writes, std::span<const std::uint64_t> revisions);
  void restore(Instant now);

  Store& store_;
  Writer writer_;
  Setup setup_;
  Ways ways_;
  std::optional<Move> move_;
  config::Topology topology_;  // the one of `setup_`, with these ways
  config::Topology before_;    // of a move: without it
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> own_figures_;  // slots, bytes
  Admission admission_;
  std::uint64_t revision_ = 1;
  std::set<std::string> drained_;            // workers
  std::map<std::string, Refusal> refusals_;  // by switch, since a job ended
  bool stale_ = false;                       // the store could not be read after a failed commit
  std::map<std::string, Entry> stored_;      // as the store has it
};

}  // namespace tributary::manager
