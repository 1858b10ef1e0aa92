// Pods at work: a PodService that any thread may call, what was decided lately, and watchers of
// changes.
//
// One lock of its own, taken before the Cluster's; the store has one of its own, too. Time is the
// caller's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "manager/service/log_desk.h"
#include "manager/service/pod_service.h"

namespace tributary::manager {

struct PodEvent {
  std::uint64_t sequence = 0;
  std::int64_t time_ms = 0;  // since 1970, UTC
  std::string pod;           // empty: of a node
  std::string kind;
  std::string message;
};

class PodCluster {
 public:
  static constexpr std::size_t kKeptEvents = 4096;
  using Listener = std::function<void(const PodEvent&)>;
  using Topography = std::function<Distances()>;
  // Lends the jobs of the cluster for a call.
  using Join = std::function<void(const std::function<void(PodJobs&)>&)>;

  // `topography` is called without the lock, `join` with it. Throws as PodService does.
  PodCluster(Store& store, const BookLimits& limits, Topography topography, Instant now,
             Listener listener = {}, Join join = {});

  // Each throws StoreError, and as PodBook does.
  void create(const Manifest& manifest, Instant now);
  // `sequence`: only if the pod of that name is the one with this number.
  bool remove(const std::string& pod, Instant now, std::optional<std::uint64_t> sequence = {});
  bool remove_group(const std::string& group, Instant now);
  // Ends leases, and tries again to place the pods that wait.
  void advance(Instant now);

  // A session of the node's agent, from which on another one is over.
  std::uint64_t attend(const std::string& node);
  // False: the session is over.
  bool report(const std::string& node, std::uint64_t session, NodeReport report, Instant now);
  [[nodiscard]] bool is_over(const std::string& node, std::uint64_t session) const;

  [[nodiscard]] LogDesk& logs() { return logs_; }
  // Wakes all that wait for a change.
  void nudge();

  // As Cluster's.
  void wait_change(std::uint64_t& seen, std::chrono::milliseconds most);
  void stop();
  [[nodiscard]] bool stopping() const;

  struct View {
    const PodBook& book;
    const std::deque<PodEvent>& events;
    bool is_stale;  // as PodService has it
  };
  template <typename Function>
  auto look(Function function) const {
    const std::lock_guard lock(mutex_);
    return function(View{service_.book(), events_, service_.is_stale()});
  }

 private:
  void tell(const std::string& pod, const std::string& kind, const std::string& message);
  template <typename Function>
  auto changing(Function function);
  void schedule(Instant now);
  // `use` with the jobs, or nullptr where no pod has to do with one.
  void with_jobs(const std::function<void(PodJobs*)>& use);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  const Topography topography_;
  const Listener listener_;
  const Join join_;
  std::deque<PodEvent> events_;
  std::uint64_t next_event_ = 1;
  PodService service_;
  LogDesk logs_;
  std::map<std::string, std::uint64_t> sessions_;
  std::uint64_t next_session_ = 1;
  std::uint64_t generation_ = 1;
  Instant scheduled_;
  bool stopping_ = false;
};

}  // namespace tributary::manager
