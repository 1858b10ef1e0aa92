#include "dataplane/switch/switch.h"

#include <pthread.h>
#include <rte_lcore.h>
#include <rte_pause.h>
#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include "config/plan/own_buffers.h"
#include "config/plan/port_places.h"
#include "dataplane/memif/memif_port.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/fault_guard.h"
#include "dataplane/port/machine.h"

namespace tributary::dataplane {
namespace {

// Interrupts a blocking system call of the worker's thread; does nothing else.
constexpr int kNudgeSignal = SIGURG;

// Between two looks at the ports' interfaces.
constexpr auto kKeepPause = std::chrono::milliseconds(100);

// How long ABORTs may take to leave the peers' rings before the ports close.
constexpr auto kLinger = std::chrono::milliseconds(20);
// How long loops go on for ranks on connected queue pairs that have not confirmed the end.
constexpr auto kFarewell = std::chrono::milliseconds(400);

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

std::vector<Port*> pointers(const std::vector<std::unique_ptr<Port>>& ports) {
  std::vector<Port*> out;
  for (const auto& port : ports) out.push_back(port.get());
  return out;
}

bool has_connections(const PacketLoops& loops) {
  return std::any_of(loops.begin(), loops.end(), [](const auto& loop) {
    try {
      return loop->mailbox().ask([at = loop.get()](Instant) { return !at->connections().empty(); },
                                 Duration::ms(50));
    } catch (const std::runtime_error&) {
      return false;  // it does not turn
    }
  });
}

void linger(const PacketLoops& loops) {
  const auto until = std::chrono::steady_clock::now() + kFarewell;
  do std::this_thread::sleep_for(kLinger);
  while (std::chrono::steady_clock::now() < until && has_connections(loops));
}

}  // namespace

// A loop and its thread, as that thread sees them.
struct Switch::Loop {
  PacketLoop* packet_loop = nullptr;
  const TscClock* clock = nullptr;
  unsigned eal_lcore = 0;
  std::atomic<pthread_t> thread{};
  std::atomic<bool> ended = false;

  static int run(void* argument) {
    Loop& loop = *static_cast<Loop*>(argument);
    loop.thread.store(pthread_self(), std::memory_order_release);
    loop.packet_loop->run(*loop.clock);
    loop.ended.store(true, std::memory_order_release);
    return 0;
  }
};

Switch::Switch(const config::SwitchConfig& config, LinkMonitor::Report report)
    : report_(std::move(report)), config_(config) {
  install_fault_handlers();
  open_ports();
  steer();
  const auto raw = pointers(ports_);
  packet_loops_ = std::make_unique<PacketLoops>(config_, raw, *pools_, draw());
  for (const auto& packet_loop : *packet_loops_) packet_loop->announce_address();
  steps_.emplace(*packet_loops_);
  install_nudge_handler();
  running_ = true;
  try {
    launch();
  } catch (...) {
    stop();
    throw;
  }
  std::vector<LinkMonitor::Loop> watched;
  for (const auto& loop : loops_)
    watched.push_back(
        {loop->packet_loop, [id = loop->thread.load()] { pthread_kill(id, kNudgeSignal); }});
  monitor_ = std::make_unique<LinkMonitor>(raw, std::move(watched), report_);
  keeper_.emplace(kKeepPause, [this] { keep_ports(); });
}

// Network cards are opened first: they say on which socket they are, and the pools depend on that.
// Devices in software come last and are started at once, as their peers may connect immediately.
void Switch::open_ports() {
  ports_.resize(config_.ports.size());
  for (std::size_t place = 0; place < ports_.size(); ++place) {
    const config::PortConfig& port = config_.ports[place];
    try {
      if (parse_devargs(port.devargs).pci()) ports_[place] = std::make_unique<Port>(port);
    } catch (const std::runtime_error&) {
      if (port.required) throw;  // else open_port() says why
    }
    has_pci_ = has_pci_ || ports_[place] != nullptr;
  }
  const config::Machine machine = machine_of_dpdk(config_, ports_);
  pools_.emplace(config_, machine, report_);
  // A port that is left out must not move the queues of others.
  config_ = config::seated(config_, config_, config::seat_ports(config_, config_));
  for (std::size_t place = 0; place < ports_.size(); ++place) open_port(place);
  for (const config::FarQueue& far : config::far_queues(config_, machine))
    report_(config::describe(far, config_));
}

void Switch::open_port(std::size_t place) {
  config::PortConfig& port = config_.ports[place];
  try {
    if (ports_[place] == nullptr) ports_[place] = std::make_unique<Port>(port);
    set_up(*ports_[place], place, pools_->plan());
    look_at_interface(place);
  } catch (const std::runtime_error& error) {
    if (port.required) throw;
    absent_.emplace(place, port);
    port.queues = 0;
    ports_[place] = Port::closed(port);
    ports_[place]->stay_down(error.what());
    report_(std::string("stays closed, and is not required: ") + error.what());
  }
}

void Switch::set_up(Port& port, std::size_t place, const config::NumaPlan& plan) {
  if (MemifPort* const server = port.memif_server())
    server->tell(config_.ipv4, config_.udp_base_port);
  port.set_up(pools_->of_port(place, plan), config::own_buffers(config_, port.config()));
  if (!port.why().empty()) report_("port " + port.name() + " " + port.why());
}

void Switch::launch() {
  for (const auto& packet_loop : *packet_loops_) {
    auto loop = std::make_unique<Loop>();
    loop->packet_loop = packet_loop.get();
    loop->clock = &clock_;
    loop->eal_lcore = kFirstWorkerLcore + static_cast<unsigned>(loops_.size());
    if (rte_eal_remote_launch(Loop::run, loop.get(), loop->eal_lcore) != 0)
      throw std::runtime_error("worker lcore " + std::to_string(loops_.size()) + " does not start");
    loops_.push_back(std::move(loop));
  }
  for (const auto& loop : loops_)
    while (loop->thread.load(std::memory_order_acquire) == pthread_t{})
      std::this_thread::sleep_for(std::chrono::microseconds(100));
}

Switch::~Switch() {
  stop();
  // Changes that were replaced give their memory back to the loops' engines, so they go first.
  abandoned_.clear();
  packet_loops_.reset();
  ports_.clear();
  abandoned_ports_.clear();
}

std::uint64_t Switch::heartbeat() {
  bool all = true;
  last_turns_.resize(packet_loops_->size());
  for (std::size_t i = 0; i < packet_loops_->size(); ++i)
    all = all && (*packet_loops_)[i].counters().turns.get() != last_turns_[i];
  if (!all) return heartbeats_;
  for (std::size_t i = 0; i < packet_loops_->size(); ++i)
    last_turns_[i] = (*packet_loops_)[i].counters().turns.get();
  return ++heartbeats_;
}

void Switch::end_epochs() {
  if (told_) return;
  for (const auto& loop : loops_) try {
      loop->packet_loop->mailbox().ask(
          [packet_loop = loop->packet_loop](Instant now) { packet_loop->shut_down(now); },
          Duration::seconds(1));
      told_ = true;
    } catch (const std::runtime_error&) {
      // A loop that does not answer is stopped without a farewell.
    }
}

void Switch::stop() {
  if (!running_) return;
  running_ = false;
  keeper_.reset();
  monitor_.reset();
  end_epochs();
  if (told_) linger(*packet_loops_);
  for (const auto& loop : loops_) loop->packet_loop->stop();
  for (const auto& loop : loops_) {
    rte_eal_wait_lcore(loop->eal_lcore);
    // The wait is over, in a library that ThreadSanitizer does not see into: this it sees.
    while (!loop->ended.load(std::memory_order_acquire)) rte_pause();
  }
}

}  // namespace tributary::dataplane
