// Where a node that hosts completion engines sends and receives its UDP datagrams: a socket of the
// kernel (worker/transport/udp_socket.h) or a DPDK port (dataplane/udp/udp_port.h).
//
// One thread; wake() is any thread's. Bursts in and out; what cannot be sent counts as lost, and
// the protocol repairs it.
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

// A datagram to the own address. `bytes` are valid during the call.
struct ReceivedDatagram {
  std::span<const std::byte> bytes;
  UdpAddress from;
  bool has_checksum = true;             // a UDP checksum covers it, which was right
  bool congestion_experienced = false;  // its IP header says so
};

class DatagramLink {
 public:
  using Receiver = std::function<void(const ReceivedDatagram&)>;

  virtual ~DatagramLink() = default;

  // Waits until something can be received, wake() is called, or `limit` has passed; less where it
  // has to look by itself.
  virtual void wait(Duration limit) = 0;
  virtual void wake() = 0;
  // Hands over what is there, a burst at most; returns how many there were.
  virtual std::size_t receive(const Receiver& receiver, Instant now) = 0;

  // Room for one datagram, to be filled and then queued; sends what is queued when it is full.
  virtual std::span<std::byte> room() = 0;
  virtual void queue(std::size_t bytes, const UdpAddress& to) = 0;
  virtual void flush() = 0;

  // Of the link, and of who drives it. Other threads may read them.
  [[nodiscard]] DropCounters& drops() { return drops_; }
  [[nodiscard]] const DropCounters& drops() const { return drops_; }

 private:
  DropCounters drops_;
};

}  // namespace tributary
