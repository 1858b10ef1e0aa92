// A memif client in this process: its memory with a ring each way, to which a test writes as it
// likes, and its end of the socket, on which it says what it likes.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "dataplane/memif/memif_handshake.h"
#include "worker/transport/file_descriptor.h"
#include "worker/transport/memif_format.h"

namespace tributary::dataplane {

class ClientMemory {
 public:
  static constexpr std::uint8_t kLog2Size = 7;
  static constexpr std::uint16_t kSize = 1u << kLog2Size;
  static constexpr std::uint32_t kBuffers = 0x2000;  // where buffers begin; rings are before

  explicit ClientMemory(std::size_t bytes = std::size_t{1} << 20, int seals = F_SEAL_SHRINK);
  ~ClientMemory();
  ClientMemory(const ClientMemory&) = delete;
  ClientMemory& operator=(const ClientMemory&) = delete;

  [[nodiscard]] int fd() const { return memory_fd_.get(); }
  [[nodiscard]] int event() const { return event_.get(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] static std::uint32_t ring_offset(bool to_server) { return to_server ? 0 : 0x1000; }
  [[nodiscard]] worker::memif::RingHeader& ring(bool to_server) const;
  [[nodiscard]] worker::memif::Descriptor& descriptor(bool to_server, std::uint16_t index) const;
  [[nodiscard]] std::byte* at(std::uint32_t offset) const { return memory_ + offset; }
  // The head moves on by a descriptor, which is this one.
  void show(bool to_server, const worker::memif::Descriptor& descriptor) const;
  // A frame of these bytes; a buffer of that many.
  void send(std::size_t bytes, std::byte value, std::uint32_t offset = kBuffers) const;
  void offer_buffer(std::uint32_t bytes, std::uint32_t offset = kBuffers) const;

  // One queue, one region.
  [[nodiscard]] MemifOffer offer() const;

 private:
  std::size_t bytes_;
  worker::FileDescriptor memory_fd_;
  worker::FileDescriptor event_;
  std::byte* memory_ = nullptr;
};

class RawClient {
 public:
  // Connects to an abstract socket.
  explicit RawClient(const std::string& name);

  [[nodiscard]] int fd() const { return socket_.get(); }
  // `passed` < 0: none.
  void say(const worker::memif::Message& message, int passed = -1) const;
  void say_bytes(std::size_t bytes) const;
  // Waits for it; nullopt: the server has ended the connection.
  [[nodiscard]] std::optional<worker::memif::Message> hear() const;
  // The words of a DISCONNECT that follows whatever the server says before; empty: it just ends.
  [[nodiscard]] std::string hear_refusal() const;

  // The messages of an honest client, in their order, from 0 on; false: there are no more.
  static constexpr int kSteps = 5;
  void step(int number, const ClientMemory& memory, std::uint32_t id = 0) const;
  // All of them; returns the answer to the last.
  std::optional<worker::memif::Message> connect(const ClientMemory& memory,
                                                std::uint32_t id = 0) const;

 private:
  worker::FileDescriptor socket_;
};

// Messages with what matters.
worker::memif::Message init_message(std::uint32_t id = 0);
worker::memif::Message region_message(std::uint16_t index, std::uint64_t bytes);
worker::memif::Message ring_message(bool to_server, std::uint16_t index = 0);
worker::memif::Message connect_message();

}  // namespace tributary::dataplane
