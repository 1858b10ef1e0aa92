// One switch engine and N sessions on a simulated network, in virtual time: the real packets, bytes
// and all, with seeded delay, loss, duplication and reordering in both directions. The same seed
// gives the same run.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "aggregator/engine/engine.h"
#include "core/prng.h"
#include "worker/session/session.h"

namespace tributary::worker {

struct NetworkModel {
  std::uint32_t loss_ppm = 0;
  std::uint32_t duplicate_ppm = 0;
  std::uint32_t reorder_ppm = 0;  // delayed by up to 3 ms more
  Duration delay_min = Duration::us(20);
  Duration delay_max = Duration::us(60);
};

class SimulatedCluster {
 public:
  SimulatedCluster(std::uint64_t seed, const config::JobConfig& job, const NetworkModel& model,
                   std::uint32_t first_seq = 0, std::uint32_t loss_group = 0);

  // A new session for this rank, as after a restart of its process.
  void create(std::uint32_t rank);
  // Another process of this rank's host joins as that rank, too; returns its number for session().
  std::uint32_t create_second(std::uint32_t rank);
  [[nodiscard]] Session& session(std::uint32_t rank) { return *ranks_[rank].session; }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] Prng& prng() { return prng_; }
  // Cut off: sends and receives nothing, its timers stand still.
  void set_dead(std::uint32_t rank, bool dead) { ranks_[rank].dead = dead; }
  // A switch that lost its memory.
  void restart_switch(std::uint16_t first_epoch);

  // Runs until `done()`; false when `limit` of virtual time has passed before.
  template <typename Done>
  bool run_until(Done done, Duration limit) {
    const Instant end = now_ + limit;
    while (!done()) {
      if (now_ >= end) return false;
      step();
    }
    return true;
  }
  void run_for(Duration d) {
    run_until([] { return false; }, d);
  }
  bool start_all(Duration limit = Duration::seconds(30));

  [[nodiscard]] aggregator::JobCounters counters() const { return engine_->counters(0); }
  [[nodiscard]] std::uint64_t beyond_window() const { return beyond_window_; }
  [[nodiscard]] std::uint64_t trace_hash() const { return trace_hash_; }
  // Packets of this type that left a worker, lost ones included.
  [[nodiscard]] std::uint64_t sent(wire::PacketType type) const {
    return sent_[static_cast<std::size_t>(type)];
  }

 private:
  struct Node {
    std::unique_ptr<Session> session;
    bool dead = false;
    std::uint32_t rank = 0;
    std::uint16_t udp_port = 0;
  };
  struct Flight {
    Instant at;
    std::uint64_t order = 0;
    int to = 0;  // a rank, or kSwitch
    std::uint32_t from = 0;
    std::uint16_t port = 0;  // of the worker's end
    std::vector<std::byte> bytes;
    bool operator>(const Flight& o) const { return at != o.at ? at > o.at : order > o.order; }
  };
  static constexpr int kSwitch = -1;

  void create(Node& node, std::uint32_t rank, std::uint16_t udp_port);
  void step();
  void poll_all();
  void deliver(const Flight& f);
  void transmit(int to, std::uint32_t from, std::uint16_t port,
                const std::vector<std::byte>& bytes);
  void flush_outbox();

  Prng prng_;
  NetworkModel model_;
  config::SwitchConfig config_;
  std::uint32_t first_seq_;
  std::uint32_t loss_group_;
  std::unique_ptr<aggregator::Engine> engine_;
  std::unique_ptr<aggregator::Outbox> outbox_;
  std::vector<Node> ranks_;  // and second processes
  std::priority_queue<Flight, std::vector<Flight>, std::greater<>> flights_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  Instant next_expire_;
  std::uint64_t order_ = 0;
  std::uint64_t beyond_window_ = 0;
  std::uint64_t trace_hash_ = 1469598103934665603ULL;
  std::array<std::uint64_t, wire::kPacketTypeMax + 1> sent_{};
  SendBatch batch_;
};

// A job of one switch with small limits.
config::JobConfig small_job(std::uint32_t workers, std::uint32_t window,
                            std::uint32_t chunk_bytes = 64, std::uint8_t shards = 1);

}  // namespace tributary::worker
