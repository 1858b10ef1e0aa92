#include "dataplane/link_monitor.h"

#include <chrono>

namespace tributary::dataplane {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(20);

}  // namespace

LinkMonitor::LinkMonitor(std::vector<Port*> ports, std::vector<Loop> loops, Report report)
    : ports_(std::move(ports)), loops_(std::move(loops)), report_(std::move(report)) {
  for (const Port* port : ports_) was_up_.push_back(port->link_up());
  thread_ = std::thread([this] { run(); });
}

LinkMonitor::~LinkMonitor() {
  stopping_.store(true, std::memory_order_relaxed);
  thread_.join();
}

void LinkMonitor::run() {
  while (!stopping_.load(std::memory_order_relaxed)) {
    for (std::size_t i = 0; i < ports_.size(); ++i) check(i);
    for (Loop& loop : loops_) check_heartbeat(loop);
    if (const auto line = flaps_.look(loops_.front().worker->fdb().counters(), since_start_))
      report_(*line);
    since_start_ = since_start_ + Duration::ns(std::chrono::nanoseconds(kPeriod).count());
    std::this_thread::sleep_for(kPeriod);
  }
}

void LinkMonitor::exchange(std::size_t index, Port& port) {
  const std::lock_guard lock(guard_);
  ports_[index] = &port;
  was_up_[index] = port.link_up();
  report_("port " + port.name() + ": " + port.config().devargs + ", mtu " +
          std::to_string(port.config().mtu) + ", link " + (was_up_[index] ? "up" : "down"));
}

void LinkMonitor::check(std::size_t index) {
  const std::lock_guard lock(guard_);
  Port& port = *ports_[index];
  const bool up = port.poll_link();
  if (up == was_up_[index]) return;
  was_up_[index] = up;
  report_("port " + port.name() + ": link " + (up ? "up" : "down"));
}

void LinkMonitor::check_heartbeat(Loop& loop) {
  const std::uint64_t turns = loop.worker->counters().turns.get();
  if (turns == loop.last_turns) loop.nudge();
  loop.last_turns = turns;
}

}  // namespace tributary::dataplane
