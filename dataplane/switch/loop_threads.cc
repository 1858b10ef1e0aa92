#include "dataplane/switch/loop_threads.h"

#include <pthread.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "dataplane/port/eal.h"

namespace tributary::dataplane {
namespace {

// Interrupts a blocking system call of the worker's thread; does nothing else.
constexpr int kNudgeSignal = SIGURG;

// How long ABORTs may take to leave the peers' rings before the ports close.
constexpr auto kLinger = std::chrono::milliseconds(20);
// How long loops go on for ranks on connected queue pairs that have not confirmed the end.
constexpr auto kFarewell = std::chrono::milliseconds(400);

void install_nudge_handler() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigemptyset(&action.sa_mask);
  sigaction(kNudgeSignal, &action, nullptr);
}

}  // namespace

// A loop and its thread, as that thread sees them.
struct LoopThreads::Thread {
  PacketLoop* packet_loop = nullptr;
  const TscClock* clock = nullptr;
  unsigned eal_lcore = 0;
  std::atomic<pthread_t> thread{};
  std::atomic<bool> ended = false;

  static int run(void* argument) {
    Thread& loop = *static_cast<Thread*>(argument);
    loop.thread.store(pthread_self(), std::memory_order_release);
    loop.packet_loop->run(*loop.clock);
    loop.ended.store(true, std::memory_order_release);
    return 0;
  }
};

LoopThreads::LoopThreads() = default;
LoopThreads::~LoopThreads() = default;

void LoopThreads::launch(const PacketLoops& loops) {
  install_nudge_handler();
  for (const auto& packet_loop : loops) {
    auto loop = std::make_unique<Thread>();
    loop->packet_loop = packet_loop.get();
    loop->clock = &clock_;
    loop->eal_lcore = kFirstWorkerLcore + static_cast<unsigned>(threads_.size());
    if (rte_eal_remote_launch(Thread::run, loop.get(), loop->eal_lcore) != 0)
      throw std::runtime_error("worker lcore " + std::to_string(threads_.size()) +
                               " does not start");
    threads_.push_back(std::move(loop));
  }
  for (const auto& loop : threads_)
    while (loop->thread.load(std::memory_order_acquire) == pthread_t{})
      std::this_thread::sleep_for(std::chrono::microseconds(100));
}

std::vector<LinkMonitor::Loop> LoopThreads::watched() const {
  std::vector<LinkMonitor::Loop> watched;
  for (const auto& loop : threads_)
    watched.push_back(
        {loop->packet_loop, [id = loop->thread.load()] { pthread_kill(id, kNudgeSignal); }});
  return watched;
}

void LoopThreads::end_epochs() {
  if (told_) return;
  for (const auto& loop : threads_) try {
      loop->packet_loop->mailbox().ask(
          [packet_loop = loop->packet_loop](Instant now) { packet_loop->shut_down(now); },
          Duration::seconds(1));
      told_ = true;
    } catch (const std::runtime_error&) {
      // A loop that does not answer is stopped without a farewell.
    }
}

bool LoopThreads::has_connections() const {
  return std::any_of(threads_.begin(), threads_.end(), [](const auto& loop) {
    try {
      return loop->packet_loop->mailbox().ask(
          [at = loop->packet_loop](Instant) { return !at->connections().empty(); },
          Duration::ms(50));
    } catch (const std::runtime_error&) {
      return false;  // it does not turn
    }
  });
}

void LoopThreads::linger() const {
  const auto until = std::chrono::steady_clock::now() + kFarewell;
  do std::this_thread::sleep_for(kLinger);
  while (std::chrono::steady_clock::now() < until && has_connections());
}

void LoopThreads::stop() {
  if (std::exchange(stopped_, true)) return;
  end_epochs();
  if (told_) linger();
  for (const auto& loop : threads_) loop->packet_loop->stop();
  for (const auto& loop : threads_) {
    rte_eal_wait_lcore(loop->eal_lcore);
    // The wait is over, in a library that ThreadSanitizer does not see into: this it sees.
    while (!loop->ended.load(std::memory_order_acquire)) rte_pause();
  }
}

}  // namespace tributary::dataplane
