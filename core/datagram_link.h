// The link through which a node that hosts completion engines sends and receives UDP datagrams: a
// kernel socket (worker/transport/udp_socket.h) or a DPDK port (dataplane/udp/udp_port.h).
//
// One thread; only wake() may be called from any thread. Sends and receives in bursts. A datagram
// that cannot be sent counts as lost, and the protocol repairs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/drop_reason.h"
#include "core/time.h"

namespace tributary {

struct UdpAddress {
  std::uint32_t ipv4 = 0;  // host order
  std::uint16_t port = 0;
};

// A datagram to this node's address. `bytes` are valid during the call.
struct ReceivedDatagram {
  std::span<const std::byte> bytes;
  UdpAddress from;
  bool has_checksum = true;             // a UDP checksum covers it, which was right
  bool congestion_experienced = false;  // the IP header says so
};

class DatagramLink {
 public:
  using Receiver = std::function<void(const ReceivedDatagram&)>;

  virtual ~DatagramLink() = default;

  // Waits until something can be received, wake() is called, or `limit` has passed. Waits less
  // where the link has to poll by itself.
  virtual void wait(Duration limit) = 0;
  virtual void wake() = 0;
  // Hands over what has arrived, at most a burst; returns the number of datagrams.
  virtual std::size_t receive(const Receiver& receiver, Instant now) = 0;

  // Room for one datagram: the caller fills it, then calls queue(). A full queue is sent first.
  virtual std::span<std::byte> room() = 0;
  virtual void queue(std::size_t bytes, const UdpAddress& to) = 0;
  virtual void flush() = 0;

  // Drops of the link and of the loop that drives it. Other threads may read them.
  [[nodiscard]] DropCounters& drops() { return drops_; }
  [[nodiscard]] const DropCounters& drops() const { return drops_; }

 private:
  DropCounters drops_;
};

}  // namespace tributary
