// A switch port whose other end is a memif client: the server's side of memif, in place of a DPDK
// device.
//
//   made: its socket is there ──open()──▶ no client ◀──────────────▶ connected
//                                             accept(): its offer is right      │
//                                             leave(): it goes, or is broken ◀──┘
//
// Bursts of a queue belong to one lcore each way. open() and disconnect_broken(): control threads.
// The rest of what changes a connection is MemifServer's, on its thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/counter.h"
#include "dataplane/memif/lent.h"
#include "dataplane/memif/memif_connection.h"
#include "dataplane/memif/memif_settings.h"

struct rte_mbuf;
struct rte_mempool;

namespace tributary::dataplane {

class ResultRegion;

class MemifPort {
 public:
  // Binds the socket, or joins the port that has it. Throws std::invalid_argument for settings that
  // are wrong, std::system_error where the socket cannot be.
  explicit MemifPort(const Devargs& device);
  ~MemifPort();
  MemifPort(const MemifPort&) = delete;
  MemifPort& operator=(const MemifPort&) = delete;

  // Any thread. Clients of the library are told where the switch is.
  void tell(std::uint32_t switch_ipv4, std::uint16_t udp_base_port) {
    switch_at_.store(std::uint64_t{switch_ipv4} << 16 | udp_base_port, std::memory_order_relaxed);
  }
  // From now on clients are taken, with a ring each way for each of these pools. Once.
  void open(std::span<rte_mempool* const> pools);

  // As rte_eth_rx_burst(), rte_eth_tx_burst(). False: the client has broken the protocol, and is to
  // be disconnected. With `in_place`, a long frame of a client that is unchecked() may stay where
  // it is (memif_rx_ring.h); then `lent` is true, and give_back() comes before the next burst.
  bool receive(std::uint16_t queue, rte_mbuf** frames, std::uint16_t capacity,
               std::uint16_t& received, const std::byte** in_place = nullptr, bool* lent = nullptr);
  void give_back(std::uint16_t queue);
  bool transmit(std::uint16_t queue, rte_mbuf** frames, std::uint16_t count, std::uint16_t& taken);

  // Any thread.
  [[nodiscard]] bool connected() const { return connected_.load(std::memory_order_acquire); }
  // Any thread. The client is this project's library, and what the two say to each other has no
  // checksum: it goes by no wire.
  [[nodiscard]] bool unchecked() const { return unchecked_.load(std::memory_order_relaxed); }
  // A packet loop. Offers results in this memory to the client, if it is unchecked().
  void offer(const std::shared_ptr<ResultRegion>& results);
  // Any thread. The client reads that region; true for the last kMostShared that it has mapped.
  [[nodiscard]] bool reads(std::uint32_t region) const;
  static constexpr std::size_t kMostShared = 32;
  // Any thread. Clients that have gone; and of those, processes that used the library and ended, or
  // closed their connection: no living one does.
  [[nodiscard]] std::uint32_t departures() const {
    return departures_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint32_t deaths() const { return deaths_.load(std::memory_order_acquire); }
  struct Losses {
    std::uint64_t unusable = 0;
    std::uint64_t no_buffers = 0;
    std::uint64_t unsent = 0;
  };
  [[nodiscard]] Losses losses() const;
  // A client that was turned away since the last call, in words.
  std::optional<std::string> take_refusal();
  // Ends the connection of a client that has broken the protocol; no other one.
  void disconnect_broken();

  // MemifServer's.
  [[nodiscard]] const MemifSettings& settings() const { return settings_; }
  [[nodiscard]] MemifDoor door() const;
  [[nodiscard]] std::uint16_t queues() const { return static_cast<std::uint16_t>(queues_.size()); }
  // The connection's client, if there is one, has broken the protocol.
  [[nodiscard]] bool broken() const { return connection_ != nullptr && connection_->broken(); }
  // Throws MemifRefusal.
  void accept(MemifOffer offer);
  void leave(bool died);
  void note_refusal(const std::string& why);
  // Returns what is offered, and the client has not been told yet.
  std::vector<std::shared_ptr<ResultRegion>> take_offers();
  void note_mapped(std::uint32_t region);

 private:
  struct alignas(64) Queue {
    rte_mempool* pool = nullptr;
    Lent<MemifRxRing> rx;
    MemifRxRing* lent = nullptr;  // between receive() and give_back()
    MemifRxLosses rx_losses;
    alignas(64) Lent<MemifTxRing> tx;
    Counter unsent;
  };

  MemifSettings settings_;
  std::atomic<std::uint64_t> switch_at_ = 0;  // its address and UDP port
  std::vector<std::unique_ptr<Queue>> queues_;
  std::unique_ptr<MemifConnection> connection_;
  std::atomic<bool> connected_{false};
  std::atomic<bool> unchecked_{false};
  std::atomic<std::uint32_t> departures_{0};
  std::atomic<std::uint32_t> deaths_{0};
  std::mutex refusal_guard_;  // of:
  std::string refusal_;
  std::uint64_t refused_ = 0;
  std::mutex offers_guard_;  // of:
  std::vector<std::shared_ptr<ResultRegion>> offers_;
  std::vector<std::uint32_t> told_;  // of regions
  std::size_t next_read_ = 0;
  std::array<std::atomic<std::uint32_t>, kMostShared> read_{};  // 0: none
};

}  // namespace tributary::dataplane
