#include "manager/service/pod_cluster.h"

#include "manager/service/wall_clock.h"

namespace tributary::manager {
namespace {

constexpr Duration kRetry = Duration::seconds(1);  // figures of devices change without an event

Manifest with_time(Manifest manifest, const std::string& created) {
  for (Pod& pod : manifest.pods) pod.metadata.created = created;
  for (PodGroup& group : manifest.groups) group.metadata.created = created;
  return manifest;
}

}  // namespace

PodCluster::PodCluster(Store& store, const BookLimits& limits, Topography topography, Instant now,
                       Listener listener, Join join)
    : topography_(std::move(topography)),
      listener_(std::move(listener)),
      join_(std::move(join)),
      service_(
          store, limits,
          [this](const std::string& pod, const std::string& kind, const std::string& message) {
            tell(pod, kind, message);
          },
          now) {}

void PodCluster::tell(const std::string& pod, const std::string& kind, const std::string& message) {
  PodEvent event{next_event_++, wall_clock_ms(), pod, kind, message};
  if (listener_) listener_(event);
  events_.push_back(std::move(event));
  if (events_.size() > kKeptEvents) events_.pop_front();
  ++generation_;
}

template <typename Function>
auto PodCluster::changing(Function function) {
  const std::lock_guard lock(mutex_);
  struct Notify {
    std::condition_variable& changed;
    ~Notify() { changed.notify_all(); }
  } notify{changed_};
  return function();
}

void PodCluster::with_jobs(const std::function<void(PodJobs*)>& use) {
  if (!join_ || !service_.book().has_jobs()) return use(nullptr);
  join_([&](PodJobs& jobs) { use(&jobs); });
}

void PodCluster::schedule(Instant now) {
  const Distances distances = topography_();
  changing([&] {
    scheduled_ = now;
    with_jobs([&](PodJobs* jobs) { service_.schedule(distances, now, jobs); });
  });
}

void PodCluster::create(const Manifest& manifest, Instant now) {
  const Manifest stamped = with_time(manifest, utc_text(wall_clock_ms()));
  changing([&] { service_.create(stamped, now); });
  schedule(now);
}

bool PodCluster::remove(const std::string& pod, Instant now,
                        std::optional<std::uint64_t> sequence) {
  return changing([&] {
    const auto& pods = service_.book().pods();
    const auto at = pods.find(pod);
    if (sequence && (at == pods.end() || at->second.sequence != *sequence)) return false;
    return service_.remove(pod, now);
  });
}

bool PodCluster::remove_group(const std::string& group, Instant now) {
  return changing([&] { return service_.remove_group(group, now); });
}

void PodCluster::advance(Instant now) {
  const bool due = changing([&] {
    const std::uint64_t before = generation_;
    service_.advance(now);
    // Also without pods: a job may have outlived its group.
    if (join_) join_([&](PodJobs& jobs) { service_.tend(jobs, now); });
    return generation_ != before || now >= scheduled_ + kRetry;
  });
  if (due) schedule(now);
}

std::uint64_t PodCluster::attend(const std::string& node) {
  return changing([&] { return sessions_[node] = next_session_++; });
}

bool PodCluster::report(const std::string& node, std::uint64_t session, NodeReport report,
                        Instant now) {
  return changing([&] {
    if (sessions_[node] != session) return false;
    const std::uint64_t before = generation_;
    service_.report(node, std::move(report), now);
    // A place may have become free: the next turn looks.
    if (generation_ != before) scheduled_ = now - kRetry;
    return true;
  });
}

bool PodCluster::is_over(const std::string& node, std::uint64_t session) const {
  const std::lock_guard lock(mutex_);
  const auto at = sessions_.find(node);
  return stopping_ || at == sessions_.end() || at->second != session;
}

void PodCluster::nudge() {
  changing([&] { ++generation_; });
}

void PodCluster::wait_change(std::uint64_t& seen, std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return stopping_ || generation_ != seen; });
  seen = generation_;
}

void PodCluster::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  logs_.stop();
}

bool PodCluster::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

}  // namespace tributary::manager
