#include "tools/agentd/pods/reconciler.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace tributary::agentd {
namespace {

using manager::ContainerStatus;
using manager::InstanceReport;
using manager::PodPhase;
using manager::RestartPolicy;

constexpr std::uint32_t kMostDoublings = 6;
constexpr std::int64_t kMostWaitSeconds = 60;
constexpr std::int32_t kKilled = 137;       // as of a process that SIGKILL ends
constexpr unsigned kUsualGraceSeconds = 1;  // of a pod that this agent has never run

Duration wait_before(std::uint32_t starts) {
  const std::int64_t seconds = std::int64_t{1} << std::min(starts, kMostDoublings);
  return Duration::seconds(std::min(seconds, kMostWaitSeconds));
}

bool is_alive(const RuntimeContainer& container) {
  return container.state == "running" || container.state == "paused" ||
         container.state == "stopping";
}

bool has_ended(const RuntimeContainer& container) {
  return container.state == "exited" || container.state == "stopped";
}

// Left by a podman that was killed: its process was about to start, or it was being removed. A
// start of it fails, or waits for ever and keeps podman from listing any container.
bool is_half_done(const RuntimeContainer& container) {
  return container.state == "initialized" || container.state == "removing";
}

bool may_run(const RuntimeContainer& container) {
  return is_alive(container) || container.state == "initialized";
}

bool starts_again(RestartPolicy policy, int exit_code) {
  return policy == RestartPolicy::always || (policy == RestartPolicy::on_failure && exit_code != 0);
}

// The phase of all containers together.
PodPhase phase_of(const WantedPod& wanted, const std::vector<ContainerStatus>& containers) {
  bool all_started = true;
  bool all_ended = true;
  bool failed = false;
  for (const ContainerStatus& one : containers) {
    const bool ended =
        one.state == "exited" && !starts_again(wanted.pod.spec.restart_policy, one.exit_code);
    all_ended = all_ended && ended;
    all_started = all_started && (one.state != "waiting" || one.restarts > 0);
    failed = failed || (ended && one.exit_code != 0);
  }
  if (all_ended) return failed ? PodPhase::failed : PodPhase::succeeded;
  return all_started ? PodPhase::running : PodPhase::pending;
}

}  // namespace

bool Reconciler::remove_strays(const Work& work, const std::vector<RuntimeContainer>& all,
                               Found& found) {
  std::set<std::string> instances;
  for (const WantedPod& wanted : work.pods) {
    instances.insert(wanted.instance);
    grace_[wanted.instance] = wanted.pod.spec.grace_seconds;
  }
  bool clean = true;
  for (const RuntimeContainer& one : all) {
    if (instances.contains(one.instance)) {
      found[{one.instance, one.container}] = one;
      continue;
    }
    try {
      const auto grace = grace_.find(one.instance);
      remove(one, grace == grace_.end() ? kUsualGraceSeconds : grace->second);
    } catch (const RuntimeError&) {
      clean = false;
    }
  }
  if (clean) std::erase_if(grace_, [&](const auto& one) { return !instances.contains(one.first); });
  return clean;
}

void Reconciler::forget_attempts(const Work& work) {
  std::set<std::string> wanted;
  for (const WantedPod& one : work.pods) wanted.insert(one.instance);
  std::erase_if(attempts_, [&](const auto& entry) { return !wanted.contains(entry.first.first); });
  std::erase_if(failed_, [&](const auto& entry) { return !wanted.contains(entry.first); });
}

Reconciler::Result Reconciler::step(const Work& work, Instant now) {
  Result result;
  try {
    const auto all = runtime_.list();
    Found found;
    const bool clean = remove_strays(work, all, found);
    forget_attempts(work);
    if (!clean) {
      // The manager sees what is left, and keeps its devices.
      for (const RuntimeContainer& one : all) result.instances[one.instance];
      result.problem = "containers of deleted pods cannot be removed";
      return result;
    }
    for (const WantedPod& wanted : work.pods)
      result.instances[wanted.instance] = run_pod(wanted, found, now);
    result.applied = work.revision;
    result.containers = all;
  } catch (const RuntimeError& error) {
    result.problem = error.what();
  }
  return result;
}

// Failed once nothing of it is left: its devices are free from then on.
InstanceReport Reconciler::end_failed(const WantedPod& wanted, const Found& found) {
  InstanceReport report;
  report.message = failed_.at(wanted.instance);
  report.phase = PodPhase::failed;
  for (const manager::Container& container : wanted.pod.spec.containers) {
    ContainerStatus status{
        .name = container.name, .state = "exited", .exit_code = kKilled, .message = {}};
    const auto at = found.find({wanted.instance, container.name});
    try {
      if (at != found.end()) remove(at->second, 0);
    } catch (const RuntimeError& error) {
      status = {.name = container.name, .state = "running", .message = error.what()};
      report.phase = PodPhase::running;
    }
    report.containers.push_back(std::move(status));
  }
  return report;
}

InstanceReport Reconciler::run_pod(const WantedPod& wanted, const Found& found, Instant now) {
  if (failed_.contains(wanted.instance)) return end_failed(wanted, found);
  InstanceReport report;
  for (std::size_t i = 0; i < wanted.pod.spec.containers.size(); ++i) {
    const auto at = found.find({wanted.instance, wanted.pod.spec.containers[i].name});
    report.containers.push_back(
        run_container(wanted, i, at == found.end() ? nullptr : &at->second, now));
    const ContainerStatus& status = report.containers.back();
    if (!status.message.empty() && report.message.empty())
      report.message = status.name + ": " + status.message;
  }
  report.phase = phase_of(wanted, report.containers);
  return report;
}

ContainerStatus Reconciler::run_container(const WantedPod& wanted, std::size_t container,
                                          const RuntimeContainer* there, Instant now) {
  ContainerStatus status;
  status.name = wanted.pod.spec.containers[container].name;
  Attempts& attempts = attempts_[{wanted.instance, status.name}];
  const bool alive = there != nullptr && is_alive(*there);
  const bool ended = there != nullptr && has_ended(*there);
  if (alive) attempts.problem.clear();
  // One that this agent finds running counts as started once.
  if ((alive || ended) && attempts.starts == 0) attempts.starts = 1;
  if (ended) {
    status.state = "exited";
    status.exit_code = there->exit_code;
    if (there->exit_code != 0) status.message = "ended with " + std::to_string(there->exit_code);
  }
  const bool due = !alive && !wanted.finished &&
                   (!ended || starts_again(wanted.pod.spec.restart_policy, there->exit_code));
  if (due && ended && attempts.next == Instant{})
    attempts.next = now + wait_before(attempts.starts - 1);
  bool started = false;
  if (due && now >= attempts.next) {
    start(wanted, container, there, attempts, now);
    started = attempts.problem.empty();
  }
  if (alive || started) status.state = "running";
  if (status.state.empty()) status.state = "waiting";
  if (!attempts.problem.empty()) status.message = attempts.problem;
  status.restarts = attempts.starts > 0 ? attempts.starts - 1 : 0;
  return status;
}

// A podman that was killed while it made a container keeps its name, without listing it: the name
// has to be freed, or no container of this pod can ever be made.
std::string Reconciler::create(const nlohmann::json& spec) {
  try {
    return runtime_.create(spec);
  } catch (const RuntimeError& error) {
    if (std::string_view(error.what()).find("already in use") == std::string_view::npos) throw;
  }
  runtime_.remove(spec.at("name").get<std::string>(), 0);
  return runtime_.create(spec);
}

// A podman that was killed while it started a container may have left a process that it does not
// know of, and that a removal alone does not end.
void Reconciler::remove(const RuntimeContainer& one, unsigned grace_s) {
  if (!may_run(one)) runtime_.reclaim(one.id);
  runtime_.remove(one.id, grace_s);
}

void Reconciler::start(const WantedPod& wanted, std::size_t container,
                       const RuntimeContainer* there, Attempts& attempts, Instant now) {
  const bool has_failed = !std::exchange(attempts.problem, "").empty();
  try {
    if (there != nullptr && (has_failed || is_half_done(*there))) {
      remove(*there, 0);
      there = nullptr;
    }
    const std::string id = there != nullptr ? there->id : create(make_spec_(wanted, container));
    runtime_.start(id);
    attempts.next = Instant{};
    ++attempts.starts;
    return;
  } catch (const RuntimeError& error) {
    attempts.problem = error.what();
  } catch (const std::invalid_argument& error) {
    attempts.problem = error.what();
  }
  attempts.next = now + wait_before(attempts.starts + 1);
}

// Ends what may run first: the time that is left is short.
std::size_t Reconciler::end_all() {
  std::size_t left = 0;
  auto all = runtime_.list();
  std::stable_partition(all.begin(), all.end(), may_run);
  for (const RuntimeContainer& one : all) {
    try {
      remove(one, 0);
    } catch (const RuntimeError&) {
      ++left;
    }
  }
  attempts_.clear();
  return left;
}

}  // namespace tributary::agentd
