// How a worker's datagrams reach its switch. One thread, the communicator's progress thread,
// calls everything but wake().
//
// A datagram is one aggregation packet: the UDP payload, without the headers below it. Every
// transport delivers only packets that passed parse() and check_integrity(), and counts those that
// it refuses in its DropCounters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "core/drop_reason.h"
#include "core/time.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"

namespace tributary::worker {

// Both spans stay valid until send() returns; the transport copies what it needs longer.
struct Datagram {
  std::span<const std::byte> head;     // serialised header and extensions
  std::span<const std::byte> payload;  // elements, may be empty
  std::uint8_t port = 0;               // UDP port of the switch, from its first one on (rule 16)
  bool sealed = false;                 // has a CRC32C, and needs no UDP checksum (rule 18)
};

class Transport {
 public:
  using Receiver = std::function<void(const wire::Packet&)>;

  virtual ~Transport() = default;
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // START arrived: join the job's multicast group, size buffers for window × chunk_bytes.
  virtual void on_start(const wire::StartInfo& info) = 0;
  // START says from which UDP port its completion host notifies ranks; 0: from none. Before
  // on_start().
  virtual void on_host(std::uint16_t /*udp_port*/) {}

  // Sends a prefix of the batch; returns how many were accepted (try the rest again later).
  virtual std::size_t send(std::span<const Datagram> batch) = 0;

  // Hands waiting packets, about a burst at most, to `receiver`; returns how many there were.
  virtual std::size_t receive(const Receiver& receiver) = 0;

  // Blocks until a packet arrives, wake() is called, or `limit` has passed. Uses no CPU meanwhile.
  virtual void wait(Duration limit) = 0;

  // Any thread: makes the current or next wait() return at once.
  virtual void wake() = 0;

  // Largest UDP payload the path carries in one packet.
  [[nodiscard]] virtual std::size_t max_datagram_bytes() const = 0;
  // The largest one that can be sent and received in fragments; 0: none.
  [[nodiscard]] virtual std::size_t max_cut_bytes() const { return 0; }
  // Appended to the error that the switch does not answer: a likely cause, like an interface that
  // does not compute checksums; "" if none is known.
  [[nodiscard]] virtual std::string silence_hint() const { return {}; }
  // Why it carries nothing any more, from then on; "": it does.
  [[nodiscard]] virtual std::string failure() const { return {}; }
  [[nodiscard]] virtual const DropCounters& drops() const = 0;
  [[nodiscard]] virtual std::string describe() const = 0;
};

// How long connecting may take.
struct Patience {
  Duration limit = Duration::seconds(10);
  // If set, asked now and then while it waits; true ends that with ConnectCancelled.
  std::function<bool()> cancelled = {};
};
class ConnectCancelled : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// address: "udp://SWITCH_IPV4[:BASE_PORT]", "rdma://SWITCH_IPV4[:BASE_PORT]" or
// "memif:///SOCKET_PATH[?id=N&switch=IPV4&port=BASE_PORT&ip=OWN_IPV4]". Throws
// std::invalid_argument (bad address) or std::runtime_error (says what failed).
std::unique_ptr<Transport> make_transport(const std::string& address, std::uint32_t job,
                                          std::uint32_t rank, const Patience& patience = {});

}  // namespace tributary::worker
