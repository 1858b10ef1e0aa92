// A virtual machine as a vhost-user port sees one: memory that it shares, a pair of split rings in
// it, and the messages that say where they are. It touches its memory through mappings that last no
// longer than that, so what faults once it is truncated is the port's.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "worker/transport/file_descriptor.h"

namespace tributary::dataplane {

class VhostFrontend {
 public:
  static constexpr std::uint16_t kSlots = 256;
  static constexpr std::size_t kFrameBytes = 2048;  // of each buffer

  // `huge`: of huge pages, where there are some.
  explicit VhostFrontend(bool huge = false);
  // Rings come first, then buffers.
  [[nodiscard]] std::size_t ring_bytes() const { return ring_bytes_; }
  void truncate(std::size_t kept) const;

  // Says all that there is to say, and waits for no answer: the link comes up by and by.
  void connect(const std::string& socket);
  // To the switch, of `bytes`, all of which are 2.
  void send_frame(std::size_t bytes);
  // The switch has closed the connection.
  [[nodiscard]] bool left() const;

 private:
  void write(std::size_t at, std::span<const std::byte> bytes) const;
  template <typename T>
  void put(std::size_t at, const T& value) const {
    write(at, std::as_bytes(std::span(&value, 1)));
  }
  void describe(std::size_t ring, std::uint16_t slot, std::uint32_t bytes, bool to_guest) const;
  void offer(std::size_t ring, std::uint16_t slots) const;
  // A message, with a descriptor if `fd` is one.
  void say(std::uint32_t request, const void* payload, std::uint32_t bytes, int fd = -1) const;
  void share_memory() const;
  void start_ring(std::uint32_t ring) const;

  std::size_t ring_bytes_;
  std::size_t bytes_;
  std::uint16_t sent_ = 0;
  worker::FileDescriptor memory_;
  worker::FileDescriptor socket_;
};

}  // namespace tributary::dataplane
