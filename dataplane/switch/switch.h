// A running switch: pools, ports, the worker lcores and the link monitor, in the order in which
// they live and die. One per process, after Eal.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/change/change.h"
#include "dataplane/host/periodic_thread.h"
#include "dataplane/loop/loop_steps.h"
#include "dataplane/loop/packet_loops.h"
#include "dataplane/port/frame_pools.h"
#include "dataplane/port/port.h"
#include "dataplane/switch/drop_reports.h"
#include "dataplane/switch/interface_watch.h"
#include "dataplane/switch/link_monitor.h"
#include "dataplane/switch/loop_threads.h"
#include "dataplane/switch/memif_clients.h"
#include "dataplane/switch/port_opener.h"

namespace tributary::dataplane {

class Switch {
 public:
  // Opens the ports and starts the loops, from EAL lcore kFirstWorkerLcore on. `report` gets one
  // line per event from control threads. Throws std::runtime_error.
  Switch(const config::SwitchConfig& config, LinkMonitor::Report report);
  // stop(), then closes the ports.
  ~Switch();
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  // Every job gets ABORT(shutdown); the loops go on. Once.
  void end_epochs();
  // Graceful: end_epochs(), then the loops end. Idempotent.
  void stop();

  // How long a loop may take to answer. It clears what the jobs that end have held, which is a
  // matter of milliseconds.
  static constexpr Duration kPatience = Duration::seconds(10);
  // Applies the part of another configuration that a running switch can take
  // (config/change/change.h). Throws, and changes nothing: std::invalid_argument when the running
  // switch cannot take it, std::runtime_error when a device cannot be opened or a loop does not
  // answer at once. Otherwise the configuration is in force, and the result says what became of it.
  // If a loop then falls silent for longer than `patience`, it does its part when it wakes up, and
  // Change::late says so; PortChange::down, as_before name ports that lack it. If nothing differs,
  // `late` is that of the change before.
  config::Change apply(const config::SwitchConfig& file, Duration patience = kPatience);
  // Ends the epochs of these jobs after an op that all ranks finish. No further one begins here
  // until release(), or a restart. Returns those whose ranks have not finished within
  // switch.drain_time, or cannot be drained; these are not held. Throws std::invalid_argument where
  // there is no such job, std::runtime_error when a loop does not answer.
  struct Drained {
    std::vector<std::uint32_t> still;
    Duration waited;
  };
  Drained drain(const std::vector<std::uint32_t>& jobs);
  void release(const std::vector<std::uint32_t>& jobs);
  // Like apply(), without doing it. Memory and devices may still be lacking.
  [[nodiscard]] config::Change compare(const config::SwitchConfig& file);
  // While it is held, the configuration stays as it is: for readers of jobs and their counters,
  // except those of a loop that is late (PacketLoop::is_late()). A change opens its devices first,
  // then waits for the holder; until then other threads can hold it.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(standing_); }

  // While the configuration is held. Its ports are at their places (config/plan/port_places.h).
  [[nodiscard]] const config::SwitchConfig& config() const { return config_; }
  // While the configuration is held; by places, nullptr where no port is.
  [[nodiscard]] const std::vector<std::unique_ptr<Port>>& ports() const { return ports_; }
  // Those that are there.
  template <typename F>
  void for_each_port(F f) const {
    for (std::size_t place = 0; place < ports_.size(); ++place)
      if (ports_[place] != nullptr) f(place, *ports_[place]);
  }
  // "-" where no port is.
  [[nodiscard]] std::string port_name(std::size_t place) const {
    return place < ports_.size() && ports_[place] != nullptr ? ports_[place]->name() : "-";
  }
  // While the configuration is held: since when it is the one that runs.
  [[nodiscard]] std::chrono::system_clock::time_point since() const { return since_; }
  // Their plan: while the configuration is held.
  [[nodiscard]] const FramePools& pools() const { return *pools_; }
  [[nodiscard]] const PacketLoops& packet_loops() const { return *packet_loops_; }
  // While the configuration is held; jobs() has none of a loop that is late:
  [[nodiscard]] std::vector<LoopJob> jobs() const { return packet_loops_->jobs(config_); }
  [[nodiscard]] std::vector<PacketLoop*> owners_of(std::uint32_t job) const {
    return packet_loops_->owners_of(config_, job);
  }
  [[nodiscard]] Identity identity() const { return identity_of(config_); }
  // How long ago the port at this place dropped the last of its `count` packets for this reason.
  [[nodiscard]] Duration drop_age(std::size_t place, DropReason reason, std::uint64_t count) const;

 private:
  void open_ports();
  void open_port(std::size_t place);
  // Asks all devices for what is best for the jobs of the configuration.
  void steer();
  // switch_change.cc
  using Prepared = LoopSteps::Prepared;
  // `whole` takes the place of the configuration that runs; what came of it is told in `change`.
  void take(const config::SwitchConfig& whole, config::Change& change, Duration patience);
  // False: some loop is silent, and will come to it when it wakes up; until then it is kept.
  bool carry_out(const config::SwitchConfig& next, const config::Change& change, OpenPorts ports,
                 config::NumaPlan plan, const Prepared& prepared, Duration patience);
  // Throws when some loop is not through with it yet.
  void forget_abandoned();
  std::string what_is_late();
  // Puts the ports in the place of those that no loop uses any more; returns these.
  std::vector<std::unique_ptr<Port>> exchange_ports(OpenPorts ports,
                                                    const config::PortChange& change,
                                                    bool used_still);
  // switch_reopen.cc: ports that are closed first, and then opened.
  // Opens the ports that `config_` has as closed, as `before` had them where `whole` can't be done;
  // `change` gets those that fail or are late.
  void open_again(const config::SwitchConfig& whole, const std::vector<config::PortConfig>& before,
                  config::Change& change, Duration patience);
  // `next` gets what was opened; nullptr: nothing was.
  std::unique_ptr<Port> open_again(config::SwitchConfig& next, config::PortConfig before,
                                   std::uint16_t place, config::PortChange& change);
  // A port that is closed is not opened now, for a reason that names it; as it is to be later.
  void leave_closed(std::uint16_t place, const config::PortConfig& later, const std::string& why,
                    config::PortChange& change);
  // The same of several ports of `whole`, for what has nothing to do with their devices.
  void leave_closed(const std::vector<std::uint16_t>& places, const config::SwitchConfig& whole,
                    const std::string& what, config::PortChange& change);
  // switch_keep.cc: the keeper's thread.
  void keep_ports();
  void keep_port(std::uint16_t place);

  static constexpr const char* kLate =
      "the packet loop did not answer in time; it will when it wakes up";

  const LinkMonitor::Report report_;
  // One change at a time; the thread that changes something reads without the other one.
  std::mutex changing_;
  // A change that others see is written under both mutexes.
  std::mutex standing_;
  // A loop that did not answer may come to use these, or still does.
  Prepared abandoned_;
  config::SwitchConfig config_;
  std::chrono::system_clock::time_point since_ = std::chrono::system_clock::now();
  bool has_pci_ = false;  // DPDK was started with it
  std::optional<FramePools> pools_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::vector<std::unique_ptr<Port>> abandoned_ports_;  // as above
  std::unique_ptr<PacketLoops> packet_loops_;
  std::optional<LoopSteps> steps_;
  LoopThreads threads_;
  std::unique_ptr<LinkMonitor> monitor_;
  // By places; with changing_.
  std::map<std::uint16_t, config::PortConfig> absent_;  // closed, as they are to be opened
  std::array<std::chrono::steady_clock::time_point, config::kMaxPorts> next_try_{};
  // The keeper's, and, of ports that come and go, with changing_.
  InterfaceWatch interfaces_;
  MemifClients clients_;
  mutable DropReports drops_;
  std::optional<PeriodicThread> keeper_;
};

}  // namespace tributary::dataplane
