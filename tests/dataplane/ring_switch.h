// A switch over in-process ring ports, its loops turned by hand: tests put frames into a port's
// receive ring, call turn() with a time of their choosing, and look at what comes out.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/model/switch_config.h"
#include "dataplane/loop/packet_loops.h"
#include "dataplane/port/frame_pools.h"

struct rte_ring;

namespace tributary::dataplane {

using Bytes = std::vector<std::byte>;

// DPDK without devices or files; started once per process. The first call decides on the page size.
void start_test_eal(bool hugepages = false);

// Another socket than 0, as far as DPDK is concerned: a heap of its own, of kOtherSocketBytes.
inline constexpr std::size_t kOtherSocketBytes = std::size_t{24} << 20;
int other_socket();

// Names of rings and devices, unique over all tests of the process.
std::string next_name();
rte_ring* make_ring();
// A frame in so many chained buffers.
rte_mbuf* make_frame(rte_mempool* pool, std::span<const std::byte> frame, std::size_t segments = 1);
// All of its buffers, which are freed.
Bytes take_bytes(rte_mbuf* frame);

class RingSwitch {
 public:
  static constexpr unsigned kRingSize = 512;

  // `config.ports` gives the number of ports and their MTU; devargs are ignored. `machine`: which
  // lcore and which port is said to be on which socket, 0 or other_socket(). With memory.hugepages
  // in `config` there is a pool on each. `checks_udp`: the ports count as hardware that checks UDP
  // checksums, and inject() marks each as good; right or not.
  explicit RingSwitch(config::SwitchConfig config, const config::Machine& machine = {},
                      bool checks_udp = false);
  ~RingSwitch();

  PacketLoop& packet_loop(std::size_t lcore = 0) { return (*packet_loops_)[lcore]; }
  PacketLoops& packet_loops() { return *packet_loops_; }
  Port& port(std::size_t i) { return *ports_[i]; }
  [[nodiscard]] const FramePools& pools() const { return *pools_; }
  [[nodiscard]] rte_mempool* pool() const { return (*pools_)[0].get(); }
  [[nodiscard]] const config::SwitchConfig& config() const { return config_; }

  // A file is read anew (dataplane/loop/packet_loop_ports.cc), each step on each lcore in turn;
  // `between` is called after each lcore's part of each step. Ports that are opened again take the
  // steps twice; `refused` of these, by places, cannot be opened.
  enum class Step : std::uint8_t { make_room, apply, attach };
  using Between = std::function<void(Step step, std::size_t lcore)>;
  void reload(const config::SwitchConfig& file, const Between& between = {},
              const std::vector<std::uint16_t>& refused = {});
  // Where ports of the next reload are, by places.
  void place(std::vector<int> ports) { machine_.ports = std::move(ports); }

  // A frame arrives, in buffers of its queue's pool; `segments` > 1 spreads it over that many
  // chained ones.
  void inject(std::size_t port, std::span<const std::byte> frame, std::size_t segments = 1);
  // A frame with DPDK's flags, as a driver hands it over.
  void inject_marked(std::size_t port, std::span<const std::byte> frame, std::uint64_t ol_flags);
  // A frame as it is, of any pool.
  void inject_buffers(std::size_t port, rte_mbuf* frame);
  // On `queue` of a port, if that has several.
  void inject_at(std::size_t port, std::size_t queue, std::span<const std::byte> frame,
                 std::size_t segments = 1);
  // One turn of one lcore, or of each in turn.
  std::size_t turn(std::size_t lcore) { return packet_loop(lcore).turn(now); }
  std::size_t turn();
  // Frames that left through a port since the last call.
  std::vector<Bytes> sent(std::size_t port);
  // The same as buffers; the caller frees them.
  std::vector<rte_mbuf*> sent_buffers(std::size_t port);
  [[nodiscard]] std::uint64_t drops(std::size_t port, DropReason reason) const {
    return packet_loops_->port_counters(port).drops.get(reason);
  }
  // Sum over all pools.
  [[nodiscard]] unsigned buffers_in_use() const;

  Instant now = Instant::from_ns(1'000'000'000);

 private:
  // A port at a place, and its rings there.
  std::unique_ptr<Port> open(std::size_t place, const config::PortConfig& port,
                             const config::NumaPlan& plan);
  void close(std::size_t place);
  // All loops: to `next`, whose new ports are there; `ports` are for those that are opened again.
  void take_steps(const config::SwitchConfig& next, const config::Change& change,
                  const std::vector<PacketLoop::PortAt>& ports, const Between& between);

  config::SwitchConfig config_;
  config::Machine machine_;
  bool checks_udp_;
  std::unique_ptr<FramePools> pools_;
  std::vector<std::vector<rte_ring*>> to_switch_;  // by port and queue
  std::vector<std::vector<rte_ring*>> from_switch_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::atomic<std::size_t> loops_left_ = 0;
  std::unique_ptr<PacketLoops> packet_loops_;
};

// N ports named p0..., 10.77.0.254, no jobs.
config::SwitchConfig test_config(std::size_t ports);

}  // namespace tributary::dataplane
