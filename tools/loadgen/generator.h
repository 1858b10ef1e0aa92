// The generator's loop: ports, players and plain traffic, on the thread that calls it.
//
//   links up ─▶ JOIN ─all joined, or failed─▶ ops ─all issued, time over, or stopped─▶ drain ─▶
//   LEAVE ─▶ report
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dataplane/host/tsc_clock.h"
#include "tools/loadgen/job.h"
#include "tools/loadgen/lane.h"
#include "tools/loadgen/options.h"
#include "tools/loadgen/plan.h"
#include "tools/loadgen/report.h"
#include "tools/loadgen/traffic/l2_traffic.h"
#include "tools/loadgen/traffic/pattern.h"

namespace tributary::loadgen {

// Bytes of a buffer that holds the largest frame of any port.
std::size_t buffer_bytes(const Plan& plan);

class Generator {
 public:
  // Opens the ports. `stopped` is asked every turn. Throws std::runtime_error.
  Generator(const Plan& plan, const Options& options, rte_mempool* pool,
            std::function<bool()> stopped);
  Report run();

 private:
  // Players behind a port: by address, and by job for packets to a job's group.
  struct Behind {
    std::vector<Player*> players;
    std::unordered_map<std::uint32_t, Player*> by_ipv4;
    std::unordered_map<std::uint32_t, std::vector<Player*>> by_job;
  };

  void add_player(const PlannedWorker& worker, Instant now);
  void wait_for_links();
  void announce_stations();
  template <typename Done>
  void turn_until(Instant limit, Done&& done);
  std::size_t turn();
  std::size_t receive(std::size_t port, Instant now);
  void on_frame(std::size_t port, Frame frame, Instant now);
  void on_ipv4(std::size_t port, std::span<const std::byte> packet, Instant now);
  std::size_t send_plain(Instant now);
  void leave();
  void show_progress(Instant now);
  [[nodiscard]] Report report() const;

  const Plan& plan_;
  const Options& options_;
  std::function<bool()> stopped_;
  dataplane::TscClock clock_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Behind> behind_;  // by port
  std::vector<std::byte> scratch_;
  std::deque<Pattern> patterns_;  // by job; players keep references
  std::vector<std::unique_ptr<Player>> players_;
  std::vector<Job> jobs_;
  std::unique_ptr<L2Traffic> l2_;
  Instant l2_next_;
  std::vector<std::size_t> l2_lanes_;   // that have stations; L2Traffic knows their places here
  std::vector<std::size_t> l2_places_;  // by lane; L2Traffic::kNoStations
  std::size_t l2_port_ = 0;             // whose turn it is
  bool running_ = false;
  bool l2_sending_ = false;
  Duration napped_;
  std::uint64_t refused_frames_ = 0;
  Instant next_progress_;
  std::uint64_t shown_ = 0;  // results, in the last line of progress
  std::uint64_t shown_bytes_ = 0;
};

}  // namespace tributary::loadgen
