#include "tools/agentd/pods/pod_runner.h"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "config/text/error.h"
#include "config/text/file.h"
#include "tools/agentd/pods/pci_probe.h"

namespace tributary::agentd {
namespace {

constexpr std::chrono::seconds kTurn{1};
constexpr std::uint64_t kMostOpenFiles = 1 << 20;
constexpr std::uint64_t kMostProcesses = 32'768;  // podman gives itself no more

std::uint64_t own_limit(__rlimit_resource_t resource, std::uint64_t most) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return most;
  return std::min<std::uint64_t>(limit.rlim_max, most);
}

// Changes whenever the manager is to hear of it at once.
std::string states_of(const Reconciler::Result& result) {
  std::string text = std::to_string(result.applied) + result.problem;
  for (const auto& [instance, report] : result.instances) {
    text.append("|").append(instance).append(name_of(report.phase)).append(report.message);
    for (const auto& one : report.containers)
      text.append(one.state).append(std::to_string(one.restarts));
  }
  return text;
}

}  // namespace

manager::Taint parse_taint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::size_t equals = text.find('=');
  manager::Taint taint;
  if (colon != std::string::npos) taint.effect = text.substr(colon + 1);
  if (taint.effect == "NoSchedule" || taint.effect == "NoExecute") {
    const std::string front = text.substr(0, colon);
    taint.key = front.substr(0, std::min(equals, front.size()));
    if (equals < front.size()) taint.value = front.substr(equals + 1);
  }
  if (taint.key.empty())
    throw std::invalid_argument(
        "taint '" + text +
        "'; allowed: KEY=VALUE:EFFECT or KEY:EFFECT, with effect NoSchedule "
        "or NoExecute");
  return taint;
}

Instant boot_time() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return Instant::from_ns(now.tv_sec * 1'000'000'000 + now.tv_nsec);
}

PodRunner::PodRunner(const NodeOptions& options, const std::string& state,
                     std::function<void()> changed, Tell tell)
    : options_(options),
      changed_(std::move(changed)),
      tell_(std::move(tell)),
      cdi_(options.cdi, options.name),
      libpod_(options.podman, options.name),
      reconciler_(libpod_,
                  [this](const WantedPod& wanted, std::size_t container) {
                    return container_spec(wanted, container, settings());
                  }),
      disk_(options.disk),
      lease_(state + "/lease-" + options.name, host_.boot()) {
  libpod_.give_up_when([this] { return gives_up(); });
  for (const std::string& text : options.taints) taints_.push_back(parse_taint(text));
  thread_ = std::thread([this] { run(); });
}

PodRunner::~PodRunner() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

// Says whether podman is not waited for any longer: a request may take minutes, such as to pull an
// image, and neither the end of the containers nor the agent's own is to wait for it.
bool PodRunner::gives_up() const {
  const std::lock_guard lock(mutex_);
  return !ending_ && (stopping_ || lease_.is_over(boot_time()));
}

SpecSettings PodRunner::settings() const {
  SpecSettings settings;
  settings.node = options_.name;
  settings.roots = options_.roots;
  settings.network = options_.network;
  settings.pids = options_.pids;
  settings.open_files = own_limit(RLIMIT_NOFILE, kMostOpenFiles);
  settings.processes = own_limit(RLIMIT_NPROC, kMostProcesses);
  for (const LocalDevice& local : devices_) settings.devices[local.device.name] = local.device.kind;
  return settings;
}

// The file's devices, GPUs, and cards of other vendors; the first of a name counts.
std::vector<LocalDevice> PodRunner::all_devices() const {
  std::vector<LocalDevice> all;
  std::set<std::string> names;
  const auto add = [&](const std::vector<LocalDevice>& some) {
    for (const LocalDevice& one : some)
      if (names.insert(one.device.name).second) all.push_back(one);
  };
  if (!options_.devices.empty())
    add(parse_declared_devices(config::read_file(options_.devices), options_.devices));
  add(nvml_.devices());
  add(pci_devices());
  return all;
}

// A probe that fails leaves the devices out of order: pods that run, run on.
void PodRunner::look_at_devices() {
  std::string problem;
  try {
    devices_ = all_devices();
    cdi_.update(devices_);
  } catch (const std::exception& error) {
    problem = error.what();
    for (LocalDevice& local : devices_) local.device.problem = "the agent cannot read its state";
  }
  if (!problem.empty() && problem != device_problem_) tell_(problem);
  device_problem_ = problem;
}

void PodRunner::publish(Reconciler::Result result) {
  manager::Node node;
  node.name = options_.name;
  node.leaf = options_.leaf;
  node.taints = taints_;
  node.cpu_millis = host_.cpu_millis();
  node.memory_bytes = host_.memory_bytes();
  node.cpu_load = host_.load();
  for (const LocalDevice& local : devices_) node.devices.push_back(local.device);
  const std::string states = states_of(result);
  const bool has_changed = states != std::exchange(last_states_, states);
  {
    const std::lock_guard lock(mutex_);
    state_ = {std::move(node), std::move(result)};
  }
  if (has_changed) changed_();
}

void PodRunner::turn() {
  look_at_devices();
  std::optional<Work> work;
  {
    const std::lock_guard lock(mutex_);
    work = work_;
    ending_ = lease_.is_over(boot_time());
  }
  if (ending_) {
    Reconciler::Result none;
    try {
      if (reconciler_.end_all() > 0) none.problem = "containers are left after the lease";
    } catch (const RuntimeError& error) {
      none.problem = error.what();
    }
    return publish(std::move(none));
  }
  // Until the manager has said what is wanted, nothing that runs is touched.
  if (!work) return publish({});
  Reconciler::Result result = reconciler_.step(*work, boot_time());
  std::map<std::string, double> loads;
  for (const LocalDevice& local : devices_) loads[local.device.name] = local.device.load;
  measure(load_, *work, loads, boot_time(), result);
  publish(result);
  // Walks large folders, for which no report is to wait; the next one has what it finds.
  for (const auto& [instance, why] : disk_.look(*work, result, boot_time()))
    reconciler_.fail(instance, why);
}

// Says why it failed, such as for want of memory; the next one tries again. Empty: it did not.
std::string PodRunner::try_turn() {
  try {
    turn();
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

void PodRunner::run() {
  std::string told;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    news_ = false;
    lock.unlock();
    const std::string failure = try_turn();
    lock.lock();
    const std::string problem = failure.empty() ? state_.result.problem : failure;
    if (problem != told && !problem.empty()) tell_(problem);
    told = problem;
    wake_.wait_for(lock, kTurn, [this] { return stopping_ || news_; });
  }
}

void PodRunner::desire(Work work) {
  const std::lock_guard lock(mutex_);
  work_ = std::move(work);
  news_ = true;
  wake_.notify_all();
}

void PodRunner::forget_applied() {
  const std::lock_guard lock(mutex_);
  if (work_) work_->revision = 0;
  state_.result.applied = 0;
}

NodeState PodRunner::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void PodRunner::sent(std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  lease_.sent(sequence, boot_time());
}

void PodRunner::acknowledged(std::uint64_t sequence, Duration lease) {
  const std::lock_guard lock(mutex_);
  lease_.acknowledged(sequence, lease);
}

}  // namespace tributary::agentd
