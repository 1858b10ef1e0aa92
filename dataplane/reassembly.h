// Datagrams to the switch itself, put together from their fragments.
//
//   fragment ─▶ table of its port (fragment_table.h) ─▶ its bytes into the datagram's one buffer
//                                                         └ the last one: that buffer, a frame
//
// A fragment's own buffer is free at once, so a datagram holds one however many fragments it has.
// A port's datagrams take nothing from those of others. Only the loop's lcore.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/switch_config.h"
#include "dataplane/fragment_table.h"
#include "dataplane/lane.h"

struct rte_mempool;

namespace tributary::dataplane {

class Reassembly {
 public:
  // Of the loop on `lcore`; `seed` is the same on all.
  Reassembly(const config::SwitchConfig& config, std::size_t lcore, std::uint64_t seed,
             rte_mempool* pool, Lanes& lanes);
  ~Reassembly();
  Reassembly(const Reassembly&) = delete;
  Reassembly& operator=(const Reassembly&) = delete;

  // The lcore that puts a fragment together with the others, wherever each was received. One that
  // polls the port.
  [[nodiscard]] std::uint16_t owner(std::uint16_t port, const wire::EthernetView& frame) const;

  // Takes the frame, which is linear and holds a fragment. The whole datagram's frame when it was
  // the last one; else nullptr. What is dropped is counted.
  rte_mbuf* add(std::uint16_t port, rte_mbuf* frame, const wire::EthernetView& view, Instant now);
  // Gives up what is too old, at most a burst of it; returns how many datagrams.
  std::size_t expire(Instant now);
  // Gives up what came through a port.
  void discard(std::uint16_t port);

  struct Datagram {
    rte_mbuf* frame = nullptr;
    bool congestion = false;
  };
  struct PortState {
    std::vector<std::uint16_t> lcores;  // that poll it
    std::unique_ptr<FragmentTable> table;
    std::vector<Datagram> datagrams;
  };
  // Ports come and go, and queues move. By place: who polls it, and, where this loop is the first
  // time among them, room. Made by the control thread, one at a time.
  using Plan = std::vector<PortState>;
  [[nodiscard]] Plan plan(const config::SwitchConfig& next) const;
  // In the loop.
  void take_in(Plan& plan);

 private:
  struct Fragment;

  void make_room(PortState& port) const;
  void give_up(std::uint16_t port, const FragmentTable::GivenUp& given_up, DropReason reason);
  static void copy(Datagram& to, const Fragment& fragment);
  // The datagram's buffer as a frame: `headers` in front of IPv4's, `payload` behind that.
  static rte_mbuf* finish(Datagram& datagram, std::size_t headers, std::size_t payload);

  rte_mempool* pool_;
  Lanes& lanes_;
  std::size_t lcore_;
  std::uint64_t seed_;
  config::FragmentsConfig limits_;
  std::size_t most_bytes_;        // of a datagram behind IPv4's header
  std::vector<PortState> ports_;  // by place, of all that there may be
};

}  // namespace tributary::dataplane
