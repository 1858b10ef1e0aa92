#include "dataplane/switch.h"

#include <pthread.h>
#include <rte_lcore.h>
#include <rte_pause.h>
#include <sys/random.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>

#include "dataplane/eal.h"
#include "dataplane/fault_guard.h"

namespace tributary::dataplane {
namespace {

// Interrupts a blocking system call of the worker's thread; does nothing else.
constexpr int kNudgeSignal = SIGURG;

// How long ABORTs may take to leave the peers' rings before the ports close.
constexpr auto kLinger = std::chrono::milliseconds(20);

// The loop clears what the jobs that end have held, which is a matter of milliseconds.
constexpr Duration kLongestChange = Duration::seconds(10);

Randomness draw() {
  Randomness out;
  if (getrandom(&out, sizeof out, 0) != static_cast<ssize_t>(sizeof out))
    throw std::runtime_error("no random numbers from the kernel");
  return out;
}

void install_nudge_handler() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigemptyset(&action.sa_mask);
  sigaction(kNudgeSignal, &action, nullptr);
}

struct Launch {
  Worker* worker;
  const TscClock* clock;
  std::atomic<pthread_t>* thread;
  std::atomic<bool>* ended;
};

int run_worker(void* argument) {
  const Launch launch = *static_cast<Launch*>(argument);
  launch.thread->store(pthread_self(), std::memory_order_release);
  launch.worker->run(*launch.clock);
  launch.ended->store(true, std::memory_order_release);
  return 0;
}

std::vector<Port*> pointers(const std::vector<std::unique_ptr<Port>>& ports) {
  std::vector<Port*> out;
  for (const auto& port : ports) out.push_back(port.get());
  return out;
}

}  // namespace

Switch::Switch(const config::SwitchConfig& config, LinkMonitor::Report report)
    : config_(config), pool_(size_pool(config)) {
  for (const auto& port : config_.ports)
    ports_.push_back(std::make_unique<Port>(port, pool_.get()));
  const auto raw = pointers(ports_);
  worker_ = std::make_unique<Worker>(config_, raw, pool_.get(), draw());
  install_fault_handlers();
  install_nudge_handler();

  std::atomic<pthread_t> thread{};
  Launch launch{worker_.get(), &clock_, &thread, &ended_};
  if (const int error = rte_eal_remote_launch(run_worker, &launch, kWorkerLcore); error != 0)
    throw std::runtime_error("the worker lcore does not start");
  running_ = true;
  // `launch` lives on this stack: wait until the lcore has read it.
  while (thread.load(std::memory_order_acquire) == pthread_t{})
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  monitor_ = std::make_unique<LinkMonitor>(
      raw, *worker_, [id = thread.load()] { pthread_kill(id, kNudgeSignal); }, std::move(report));
}

Switch::~Switch() {
  stop();
  worker_.reset();
  ports_.clear();
}

config::Change Switch::apply(const config::SwitchConfig& next) {
  const auto held = hold();
  config::Change change = config::difference(config_, next);
  if (change.empty()) return change;
  const auto prepared = worker_->prepare(next);
  // By address, so that what was replaced is destroyed here and not by the loop.
  try {
    worker_->mailbox().ask(
        [worker = worker_.get(), to = prepared.get()](Instant now) { worker->apply(*to, now); },
        kLongestChange);
  } catch (const std::runtime_error&) {
    abandoned_.push_back(prepared);  // the loop may yet come to it
    throw;
  }
  config_ = next;
  return change;
}

void Switch::stop() {
  if (!running_) return;
  running_ = false;
  monitor_.reset();
  try {
    worker_->mailbox().ask([this](Instant now) { worker_->shut_down(now); }, Duration::seconds(1));
    std::this_thread::sleep_for(kLinger);
  } catch (const std::runtime_error&) {
    // A loop that does not answer is stopped without a farewell.
  }
  worker_->stop();
  rte_eal_wait_lcore(kWorkerLcore);
  // The wait is over, in a library that ThreadSanitizer does not see into: this it sees.
  while (!ended_.load(std::memory_order_acquire)) rte_pause();
}

}  // namespace tributary::dataplane
