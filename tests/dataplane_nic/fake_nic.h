// A network card for tests: a driver of its own in DPDK, below all checks that DPDK makes, with
// abilities that the test chooses, refusals where the test wants one, and a memory of what it was
// asked. What arrives on its wire comes to a queue as a card would choose it:
//
//   a rule matches the destination ─no▶ spread by a hash ─no▶ queue 0
//
// Any thread; a frame that arrives is in a buffer when its queue is polled.
#pragma once

#include <rte_ethdev.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

struct rte_mempool;

namespace tributary::dataplane {

using Bytes = std::vector<std::byte>;

// Requests to a card.
enum class Ask : std::uint8_t { nothing, configure, rx_queue, tx_queue, start, promiscuous };

struct NicAbilities {
  std::uint16_t queues = 4;
  std::uint64_t hashes = 0;  // RTE_ETH_RSS_*; and whether it takes another one while it runs
  bool rehashes = true;
  bool rules = true;  // rte_flow; then, words with which it refuses each, and how many it has room
  const char* refuses_rules = nullptr;  // for
  std::size_t most_rules = 64;
  bool removes_rules = true;  // one by one, and all at once
  bool flushes_rules = true;
  std::uint64_t rx_offloads = 0;  // RTE_ETH_RX_OFFLOAD_*
  std::uint64_t tx_offloads = 0;
  std::uint16_t most_mtu = 9702;
  std::uint16_t frame_overhead = 26;  // Ethernet, two tags, FCS: more than an mtu has
  // It fills buffers up to a multiple of this, and goes on in the next one.
  std::uint16_t buffer_step = 1;
  int socket = 0;
  Ask refuses = Ask::nothing;
  rte_eth_stats stats = {};  // what it has counted
};

class FakeNic {
 public:
  struct Rule {
    std::uint32_t ipv4 = 0;
    std::uint16_t udp_port = 0;
    std::uint16_t queue = 0;
    auto operator<=>(const Rule&) const = default;
  };

  // The card is in its slot: a device of this name can be made, "net_fake0"; with a name like
  // "net_fake:0.0", it is one of hardware for the switch. Outlives the device.
  explicit FakeNic(std::string name, const NicAbilities& abilities = {});
  ~FakeNic();
  FakeNic(const FakeNic&) = delete;
  FakeNic& operator=(const FakeNic&) = delete;

  NicAbilities can;  // may change between two of the switch's steps

  [[nodiscard]] const std::string& name() const { return name_; }
  // A frame arrives; returns the queue. `udp_is_good`: what a card that checks finds.
  std::size_t arrive(std::span<const std::byte> frame, bool udp_is_good = true);
  // Frames that have left since the last call.
  std::vector<Bytes> sent();
  void set_link(bool up);

  // By destination.
  [[nodiscard]] std::vector<Rule> rules() const;
  // Since it is there. A rule counts when it is made, and when it is removed in whatever way.
  struct Record {
    std::size_t made = 0;
    std::size_t removed = 0;
    std::size_t rules_when_stopped = 0;  // that were there still
    std::size_t configured = 0;
    std::size_t started = 0;
    std::size_t closed = 0;
    rte_eth_conf conf{};  // the latest
    bool promiscuous = false;
    bool all_multicast = false;
    std::vector<unsigned> rx_sockets;  // of queues
    std::vector<unsigned> tx_sockets;
  };
  [[nodiscard]] Record record() const;
  // The fields that it spreads by now; 0: none.
  [[nodiscard]] std::uint64_t hash() const;

 private:
  friend struct FakeDriver;
  struct Arrived {
    Bytes bytes;
    bool udp_is_good = true;
  };
  struct Queue {
    FakeNic* nic = nullptr;
    rte_mempool* pool = nullptr;
    std::deque<Arrived> frames;
  };
  [[nodiscard]] std::size_t choose(std::span<const std::byte> frame) const;
  [[nodiscard]] rte_mbuf* fill(const Queue& queue, const Arrived& frame) const;

  const std::string name_;
  mutable std::mutex mutex_;  // all of the following
  std::vector<std::unique_ptr<Rule>> rules_;
  std::vector<Queue> queues_;
  std::vector<Bytes> sent_;
  bool link_up_ = true;
  std::uint64_t hash_ = 0;
  Record record_;
};

}  // namespace tributary::dataplane
