// Corrects requests of DPDK 22.11's af_packet driver on their way to the kernel.
//
//   PACKET_FANOUT   the driver numbers its groups by (pid ^ ifindex) & 0xffff, so that two switches
//                   in one namespace can meet in one, and has the kernel put fragments together
//                   that are only passing through. One queue needs no group; several get one that
//                   the kernel numbers, and fragments stay what they are.
//   poll()          the driver waits in its transmit, without a limit, until an interface's queue
//                   has room: for a shaped one, that is the end of the packet loop. It never waits:
//                   what has no room is the caller's, and is counted (drivers/net/af_packet/
//                   rte_eth_af_packet.c).
//
// The sockets also say what the kernel lost in front of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::dataplane {

// The packet sockets of one device. Closed by the driver, after release().
class PacketSockets {
 public:
  PacketSockets() = default;
  ~PacketSockets() { release(); }
  PacketSockets(const PacketSockets&) = delete;
  PacketSockets& operator=(const PacketSockets&) = delete;

  // While it lives, packet sockets that this thread makes are those of the device, which has that
  // many queues.
  class Collecting {
   public:
    Collecting(PacketSockets& into, std::size_t queues);
    ~Collecting();
    Collecting(const Collecting&) = delete;
    Collecting& operator=(const Collecting&) = delete;
    // The last option of a socket that the kernel refused, with its reason; empty: none.
    [[nodiscard]] const std::string& refused() const { return refused_; }

   private:
    friend struct SocketCalls;
    PacketSockets& into_;
    const std::size_t queues_;
    int group_ = -1;  // the kernel's number, with type and flags
    std::string refused_;
  };

  // Frames that the kernel had for these sockets and no room in their rings, since they were made.
  // One thread at a time.
  std::uint64_t lost();
  // Before the driver closes them.
  void release();

 private:
  friend struct SocketCalls;
  std::vector<int> sockets_;
  std::uint64_t lost_ = 0;
};

// Puts this program's setsockopt() and poll() in the place of the C library's, for drivers too; all
// but the above goes through as it is. Any number of times.
void correct_packet_sockets();

}  // namespace tributary::dataplane
