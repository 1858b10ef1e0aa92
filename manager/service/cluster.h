// The manager at work: decisions over a store, reports of switches, and watchers of changes.
//
//   submit, cancel, drain ─┐                        ┌─▶ watchers (wait for a change)
//   agents: attend, report ├─▶ Service, Switches ───┼─▶ documents for agents
//   time: advance ─────────┘                        └─▶ events, with reasons
//
//   queued ──admitted──▶ starting ──every switch of it reports its id──▶ running
//
// Any thread; one lock. Time is the caller's. What switches report is known anew after each start;
// until then a job that runs is shown as starting, and runs on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "manager/policy/exclusions.h"
#include "manager/service/pod_jobs.h"
#include "manager/service/registration.h"
#include "manager/service/service.h"
#include "manager/service/switch_state.h"

namespace tributary::manager {

struct Event {
  std::uint64_t sequence = 0;
  std::int64_t time_ms = 0;  // since 1970, UTC
  std::string kind = {};     // an outcome's name, or running, switch, drain, store, straggler,
                             // stray, topology, cable, move
  std::string job = {};
  std::string tenant = {};
  std::uint32_t id = 0;
  std::string reason = {};
};

class Cluster {
 public:
  static constexpr std::size_t kKeptEvents = 4096;
  using Listener = std::function<void(const Event&)>;

  // Throws as Service does. `listener` is called under the lock.
  Cluster(Store& store, Service::Setup setup, Instant now, Listener listener = {});

  // Other tenants and another topology from now on; agents attend anew. Throws StoreError; then
  // nothing has changed.
  void set_setup(Service::Setup setup, Instant now);

  // Jobs that come and go with pods: `use` under the lock. Throws what it throws.
  void join(const std::function<void(PodJobs&)>& use, Instant now);

  // Each throws StoreError. The outcome is queued, admitted or refused.
  Decision submit(std::string_view text, const std::string& file_name, Instant now);
  // Throws std::invalid_argument for a job that ends with its pods.
  std::optional<Decision> cancel(const std::string& name, Instant now, const std::string& reason);
  // Drains a worker, or all workers of a switch; returns their names. Throws std::invalid_argument.
  std::vector<std::string> drain(const std::string& name, bool drained, Instant now);
  // Begins to move a switch to another way up, as Service::use_uplink().
  void use_uplink(const std::string& node, const std::string& uplink, Instant now);
  // Ends leases and admits what has room.
  void advance(Instant now);

  // A session, from which on another one of that switch is over. Throws std::invalid_argument when
  // the switch is not the one that the topology has.
  std::uint64_t attend(const SwitchRegistration& registration, Instant now);
  // False: the session is over.
  bool report(const std::string& node, std::uint64_t session, SwitchReport report, Instant now);
  void leave(const std::string& node, std::uint64_t session);
  [[nodiscard]] bool is_over(const std::string& node, std::uint64_t session) const;

  // Returns at the first change after `seen`, which then is it, or when the time is over, or after
  // stop().
  void wait_change(std::uint64_t& seen, std::chrono::milliseconds most);
  void stop();
  [[nodiscard]] bool stopping() const;

  struct View {
    const Service& service;
    const std::map<std::string, SwitchState>& switches;
    const std::deque<Event>& events;
    const Exclusions& exclusions;
    const HostRanking& hosts;
    const std::string& stayed;  // why the latest move came to nothing
  };
  // `function(View)` under the lock.
  template <typename Function>
  auto look(Function function) const {
    const std::lock_guard lock(mutex_);
    return function(View{service_, switches_, events_, exclusions_, hosts_, stayed_});
  }
  // Why nothing more is decided; empty: all is well.
  [[nodiscard]] std::string trouble() const;

 private:
  template <typename Function>
  auto guarded(Function function);
  void tell_strays();
  void advance_locked(Instant now);
  void refresh();
  void judge_cables(const std::string& node, SwitchState& state);
  void judge_stragglers();
  void rank_hosts(Instant now);
  void tell_exclusion(const Straggler& rank, bool excluded);
  void tend_move(const std::string& node, const SwitchReport& report, Instant now);
  void refused_by(const std::string& node, const SwitchReport& report, Instant now);
  void tell(Event event);
  void tell(const Decision& decision);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Service service_;
  Listener listener_;
  std::map<std::string, SwitchState> switches_;
  std::map<std::string, std::string> refusals_;  // of switches, so that each is told once
  std::set<std::uint32_t> running_;              // ids, of whose start was told
  Exclusions exclusions_;                        // as switches are to have them
  HostRanking hosts_;
  std::string stayed_;
  std::deque<Event> events_;
  std::uint64_t next_event_ = 1;
  std::uint64_t next_session_ = 1;
  std::uint64_t generation_ = 1;
  std::string trouble_;
  bool stopping_ = false;
};

}  // namespace tributary::manager
