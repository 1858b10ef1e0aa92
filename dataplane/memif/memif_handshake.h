// The handshake with a memif client, message by message.
//
//   (HELLO) ──INIT──▶ known ──ADD_REGION, ADD_RING──▶ known ──CONNECT──▶ complete: an offer
//
// Nothing is mapped, and no socket is used here. A message that does not belong here is refused.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/memif/memif_settings.h"
#include "worker/transport/file_descriptor.h"
#include "worker/transport/memif_format.h"

namespace tributary::dataplane {

// A client's memory and rings, as it described them.
struct MemifOffer {
  struct Region {
    worker::FileDescriptor memory;
    std::uint64_t bytes = 0;
  };
  struct Ring {
    std::uint16_t region = 0;
    std::uint32_t offset = 0;
    std::uint8_t log2_size = 0;
    worker::FileDescriptor event;
  };
  std::vector<Region> regions;
  std::vector<Ring> to_server;
  std::vector<Ring> to_client;
  bool unchecked = false;  // see MemifPort::unchecked()
};

// A port that a client may ask for, or that the switch has chosen for one that asks for any.
struct MemifDoor {
  const MemifSettings* settings = nullptr;
  std::uint16_t queues = 0;
  bool taken = false;  // by another client
  // Where the switch is, which its library asks for; 0: not known yet.
  std::uint32_t switch_ipv4 = 0;
  std::uint16_t udp_base_port = 0;
};

class MemifHandshake {
 public:
  static constexpr std::uint16_t kMostRegions = 8;
  static constexpr std::uint8_t kMostLog2RingSize = 14;

  using FindDoor = std::function<std::optional<MemifDoor>(std::uint32_t id)>;
  explicit MemifHandshake(FindDoor find) : find_(std::move(find)) {}

  // The first message, which is the server's.
  static worker::memif::Message hello();
  // `passed`: the descriptor that came with the message, if any. Returns false where no answer is
  // due. Throws MemifRefusal with DPDK's words where clients know these.
  bool take(const worker::memif::Message& message, worker::FileDescriptor passed);

  // The port, after INIT.
  [[nodiscard]] std::optional<std::uint32_t> id() const { return id_; }
  // Goes into the acknowledgement of INIT.
  [[nodiscard]] const worker::memif::Told& told() const { return told_; }
  // The client says that it is this project's library, which leaves a job before it goes.
  [[nodiscard]] bool by_library() const { return by_library_; }
  // CONNECT was taken: all rings of the port are there.
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] MemifOffer take_offer() { return std::move(offer_); }

 private:
  void init(const worker::memif::Init& said);
  void add_region(const worker::memif::AddRegion& said, worker::FileDescriptor memory);
  void add_ring(const worker::memif::AddRing& said, worker::FileDescriptor event);
  void connect();

  FindDoor find_;
  std::optional<std::uint32_t> id_;
  bool by_library_ = false;
  worker::memif::Told told_{};
  std::uint16_t queues_ = 0;
  MemifOffer offer_;
  bool complete_ = false;
};

}  // namespace tributary::dataplane
