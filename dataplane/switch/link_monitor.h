// Watches the ports' links from a control thread, so that the packet loop never has to ask.
//
//   up ──link lost──▶ down: frames for the port are dropped ──link back──▶ up
//
// memif needs no more than that: its server takes the next client by itself. Stopping and
// starting the port between two clients would cut off one that came back at once.
//
// Also ends the blocking system calls of a loop that does not turn, with a signal; asks devices
// what they lost; and says which addresses move to and fro.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "dataplane/bridge/flap_watch.h"
#include "dataplane/loop/packet_loop.h"
#include "dataplane/port/port.h"

namespace tributary::dataplane {

class LinkMonitor {
 public:
  using Report = std::function<void(const std::string& line)>;

  // A worker that runs on another lcore; `nudge` signals that lcore's thread.
  struct Loop {
    const PacketLoop* packet_loop = nullptr;
    std::function<void()> nudge;
    std::uint64_t last_turns = 0;
  };

  // Starts the thread.
  LinkMonitor(std::span<Port* const> ports, std::vector<Loop> loops, Report report);
  ~LinkMonitor();
  LinkMonitor(const LinkMonitor&) = delete;
  LinkMonitor& operator=(const LinkMonitor&) = delete;

  // Any thread. From its return on, this one is looked at in the place of the one before; nullptr:
  // none.
  void exchange(std::size_t place, Port* port);
  void rename(std::size_t place, const std::string& name);

 private:
  void run();
  void check(std::size_t place);
  void look_for_losses();
  static void check_heartbeat(Loop& loop);

  std::mutex guard_;  // of the four that follow, by places of ports
  std::array<Port*, config::kMaxPorts> ports_{};
  std::array<bool, config::kMaxPorts> was_up_{};
  std::array<std::uint32_t, config::kMaxPorts> losses_{};  // of the link, so far
  std::array<bool, config::kMaxPorts> going_{};  // its lost peer was told of, and is there yet
  std::vector<Loop> loops_;
  Report report_;
  FlapWatch flaps_;
  Instant since_start_;
  unsigned rounds_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace tributary::dataplane
