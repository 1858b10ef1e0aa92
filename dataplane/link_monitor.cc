#include "dataplane/link_monitor.h"

#include <chrono>

namespace tributary::dataplane {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(20);

}  // namespace

LinkMonitor::LinkMonitor(std::vector<Port*> ports, const Worker& worker,
                         std::function<void()> nudge, Report report)
    : ports_(std::move(ports)),
      worker_(worker),
      nudge_(std::move(nudge)),
      report_(std::move(report)) {
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
    check_heartbeat();
    if (const auto line = flaps_.look(worker_.fdb().counters(), since_start_)) report_(*line);
    since_start_ = since_start_ + Duration::ns(std::chrono::nanoseconds(kPeriod).count());
    std::this_thread::sleep_for(kPeriod);
  }
}

void LinkMonitor::check(std::size_t index) {
  Port& port = *ports_[index];
  const bool up = port.poll_link();
  if (up == was_up_[index]) return;
  was_up_[index] = up;
  report_("port " + port.name() + ": link " + (up ? "up" : "down"));
}

void LinkMonitor::check_heartbeat() {
  const std::uint64_t turns = worker_.counters().turns.get();
  if (turns == last_turns_) nudge_();
  last_turns_ = turns;
}

}  // namespace tributary::dataplane
