#include "dataplane/switch/link_monitor.h"

#include <chrono>
#include <utility>

namespace tributary::dataplane {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(20);
constexpr unsigned kRoundsPerLosses = 10;

}  // namespace

LinkMonitor::LinkMonitor(std::span<Port* const> ports, std::vector<Loop> loops, Report report)
    : loops_(std::move(loops)), report_(std::move(report)) {
  for (std::size_t place = 0; place < ports.size(); ++place) {
    ports_[place] = ports[place];
    was_up_[place] = ports[place]->link().up();
    losses_[place] = ports[place]->link().losses();
  }
  thread_ = std::thread([this] { run(); });
}

LinkMonitor::~LinkMonitor() {
  stopping_.store(true, std::memory_order_relaxed);
  thread_.join();
}

void LinkMonitor::run() {
  while (!stopping_.load(std::memory_order_relaxed)) {
    for (std::size_t i = 0; i < ports_.size(); ++i) check(i);
    if (++rounds_ % kRoundsPerLosses == 0) look_for_losses();
    for (Loop& loop : loops_) check_heartbeat(loop);
    if (const auto line = flaps_.look(loops_.front().packet_loop->fdb().counters(), since_start_))
      report_(*line);
    since_start_ = since_start_ + Duration::ns(std::chrono::nanoseconds(kPeriod).count());
    std::this_thread::sleep_for(kPeriod);
  }
}

void LinkMonitor::exchange(std::size_t place, Port* port) {
  const std::lock_guard lock(guard_);
  const Port* const before = std::exchange(ports_[place], port);
  if (port == nullptr) return report_("port " + before->name() + ": removed");
  was_up_[place] = port->link().up();
  losses_[place] = port->link().losses();
  going_[place] = false;
  if (!port->is_device()) return report_("port " + port->name() + ": closed, to be opened again");
  report_("port " + port->name() + ": " + port->config().devargs + ", mtu " +
          std::to_string(port->config().mtu) + ", link " + (was_up_[place] ? "up" : "down"));
}

void LinkMonitor::rename(std::size_t place, const std::string& name) {
  const std::lock_guard lock(guard_);
  report_("port " + ports_[place]->name() + ": is called " + name);
  ports_[place]->rename(name);
}

void LinkMonitor::check(std::size_t place) {
  const std::lock_guard lock(guard_);
  if (ports_[place] == nullptr) return;
  Port& port = *ports_[place];
  const bool lost = port.link().lost_peer();
  if (lost && !going_[place])
    report_("port " + port.name() + ": " + port.loss_text() + ", and is disconnected");
  if (const auto refusal = port.take_refusal()) report_("port " + port.name() + ": " + *refusal);
  const bool up = port.poll_link();  // not while it is lost
  if (lost) port.disconnect_peer();
  going_[place] = lost && port.link().lost_peer();
  // Another client may have come since the last look. A loop that loses this one meanwhile takes
  // the link down first.
  const std::uint32_t losses = port.link().losses();
  const bool was_lost = std::exchange(losses_[place], losses) != losses;
  if (up && was_up_[place] && was_lost && port.link().up())
    report_("port " + port.name() + ": link down, and up again at once");
  if (up == was_up_[place]) return;
  was_up_[place] = up;
  report_("port " + port.name() + ": link " + (up ? "up" : "down"));
}

void LinkMonitor::look_for_losses() {
  const std::lock_guard lock(guard_);
  for (Port* const port : ports_)
    if (port != nullptr) port->poll_losses();
}

void LinkMonitor::check_heartbeat(Loop& loop) {
  const std::uint64_t turns = loop.packet_loop->counters().turns.get();
  if (turns == loop.last_turns) loop.nudge();
  loop.last_turns = turns;
}

}  // namespace tributary::dataplane
