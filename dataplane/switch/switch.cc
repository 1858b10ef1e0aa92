#include "dataplane/switch/switch.h"

#include <sys/random.h>

#include <chrono>
#include <stdexcept>
#include <utility>

#include "config/plan/port_places.h"
#include "dataplane/frame/devargs.h"
#include "dataplane/loop/loop_drain.h"
#include "dataplane/port/fault_guard.h"
#include "dataplane/port/machine.h"
#include "dataplane/switch/job_drain.h"

namespace tributary::dataplane {
namespace {

// Between two looks at the ports' interfaces.
constexpr auto kKeepPause = std::chrono::milliseconds(100);

Randomness draw() {
  Randomness out;
  if (getrandom(&out, sizeof out, 0) != static_cast<ssize_t>(sizeof out))
    throw std::runtime_error("no random numbers from the kernel");
  return out;
}

std::vector<Port*> pointers(const std::vector<std::unique_ptr<Port>>& ports) {
  std::vector<Port*> out;
  for (const auto& port : ports) out.push_back(port.get());
  return out;
}

}  // namespace

Switch::Switch(const config::SwitchConfig& config, LinkMonitor::Report report)
    : report_(std::move(report)), config_(config), interfaces_(report_), drops_(report_) {
  install_fault_handlers();
  open_ports();
  steer();
  const auto raw = pointers(ports_);
  packet_loops_ = std::make_unique<PacketLoops>(config_, raw, *pools_, draw());
  for (const auto& packet_loop : *packet_loops_) packet_loop->announce_address();
  steps_.emplace(*packet_loops_);
  try {
    threads_.launch(*packet_loops_);
  } catch (...) {
    stop();
    throw;
  }
  monitor_ = std::make_unique<LinkMonitor>(raw, threads_.watched(), report_);
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
    PortOpener(config_, *pools_, report_).set_up(*ports_[place], place, pools_->plan());
    interfaces_.begin(place, *ports_[place]);
  } catch (const std::runtime_error& error) {
    if (port.required) throw;
    absent_.emplace(place, port);
    port.queues = 0;
    ports_[place] = Port::closed(port);
    ports_[place]->stay_down(error.what());
    report_(std::string("stays closed, and is not required: ") + error.what());
  }
}

Switch::~Switch() {
  stop();
  // Changes that were replaced give their memory back to the loops' engines, so they go first.
  abandoned_.clear();
  packet_loops_.reset();
  ports_.clear();
  abandoned_ports_.clear();
}

void Switch::end_epochs() {
  threads_.end_epochs();
}

void Switch::stop() {
  keeper_.reset();
  monitor_.reset();
  threads_.stop();
}

void Switch::steer() {
  for_each_port([&](std::size_t place, const Port&) {
    ports_[place]->steering().apply(config::steering_plan(config_, place));
  });
}

Switch::Drained Switch::drain(const std::vector<std::uint32_t>& jobs) {
  const std::lock_guard alone(changing_);
  const Duration at_most = config_.drain_time;
  check_jobs(config_, jobs);
  std::vector<std::uint32_t> still =
      drain_jobs(*packet_loops_, jobs, aggregator::Holder::operator_, at_most, kPatience);
  release_jobs(*packet_loops_, still, aggregator::Holder::operator_, kPatience);
  return {std::move(still), at_most};
}

void Switch::release(const std::vector<std::uint32_t>& jobs) {
  const std::lock_guard alone(changing_);
  check_jobs(config_, jobs);
  release_jobs(*packet_loops_, jobs, aggregator::Holder::operator_, kPatience);
}

}  // namespace tributary::dataplane
