#include "dataplane/link_monitor.h"

#include <chrono>

namespace tributary::dataplane {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(20);
constexpr Duration kLoopAnswer = Duration::seconds(1);

}  // namespace

LinkMonitor::LinkMonitor(std::vector<Port*> ports, Worker& worker, std::function<void()> nudge,
                         Report report)
    : ports_(std::move(ports)),
      worker_(worker),
      nudge_(std::move(nudge)),
      report_(std::move(report)) {
  for (const Port* port : ports_) watched_.push_back({port->link_up(), false});
  thread_ = std::thread([this] { run(); });
}

LinkMonitor::~LinkMonitor() {
  stopping_.store(true, std::memory_order_relaxed);
  thread_.join();
}

void LinkMonitor::run() {
  while (!stopping_.load(std::memory_order_relaxed)) {
    for (std::uint16_t i = 0; i < ports_.size(); ++i) check(i);
    check_heartbeat();
    std::this_thread::sleep_for(kPeriod);
  }
}

void LinkMonitor::check(std::uint16_t index) {
  Port& port = *ports_[index];
  Watched& watched = watched_[index];
  const bool up = port.poll_link();
  if (up != watched.up) {
    watched.up = up;
    report_("port " + port.name() + ": link " + (up ? "up" : "down"));
    if (!up && port.shares_memory()) watched.restart_due = true;
  }
  if (watched.restart_due) watched.restart_due = !restart(index);
}

bool LinkMonitor::restart(std::uint16_t index) {
  Mailbox& mailbox = worker_.mailbox();
  try {
    // The loop has let go of the port when the first answer is here.
    mailbox.ask([&w = worker_, index](Instant) { w.detach(index); }, kLoopAnswer);
    ports_[index]->restart();
    mailbox.ask([&w = worker_, index](Instant) { w.attach(index); }, kLoopAnswer);
    return true;
  } catch (const std::runtime_error& error) {
    report_("port " + ports_[index]->name() + ": not yet restarted: " + error.what());
    return false;
  }
}

void LinkMonitor::check_heartbeat() {
  const std::uint64_t turns = worker_.counters().turns.get();
  if (turns == last_turns_) nudge_();
  last_turns_ = turns;
}

}  // namespace tributary::dataplane
