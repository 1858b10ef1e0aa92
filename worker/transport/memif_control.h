// The control channel of a memif connection, client side: one unix socket that lives as long as the
// connection does.
//
//   server: HELLO · client: INIT, ADD_REGION, ADD_RING ×2, CONNECT, each acknowledged · CONNECTED
//
// Afterwards the server offers memory with results (memif_results.h), and says that it leaves: by
// DISCONNECT, or by closing.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/time.h"
#include "worker/transport/file_descriptor.h"
#include "worker/transport/memif_rings.h"

namespace tributary::worker {

// The text names the socket and the server's or the kernel's error.
class MemifConnectError : public std::runtime_error {
 public:
  // The prospects of another try.
  enum class Prospect : std::uint8_t {
    open,
    soon,  // the switch opens its ports, or notices that this one's last client died
    none,
  };
  MemifConnectError(const std::string& text, Prospect prospect)
      : std::runtime_error(text), prospect_(prospect) {}
  [[nodiscard]] Prospect prospect() const { return prospect_; }

 private:
  Prospect prospect_;
};

class MemifControl {
 public:
  // Connects interface `id`, or any (memif::kAnyId), at socket `path` (a file, or else an abstract
  // name, on which DPDK listens unless socket-abstract=no is given) and hands `rings` over. Every
  // answer must come within `answer_limit`. `name`: as which client; with memif::kLibraryName, see
  // Told::unchecked. Throws MemifConnectError.
  MemifControl(const std::string& path, std::uint32_t id, MemifRings& rings, Duration answer_limit,
               std::string_view name = memif::kLibraryName);
  // Sends DISCONNECT.
  ~MemifControl();
  MemifControl(const MemifControl&) = delete;
  MemifControl& operator=(const MemifControl&) = delete;

  // The id of the interface, and where the switch is, where the server tells them.
  [[nodiscard]] const memif::Told& told() const { return told_; }
  // Readable when server_left() may have become true.
  [[nodiscard]] int fd() const { return socket_.get(); }
  // Takes what the server has said, one message at a time.
  [[nodiscard]] bool server_left();
  struct Offer {
    memif::Share share;
    FileDescriptor memory;
  };
  // Returns what server_left() has taken since the last call.
  [[nodiscard]] std::vector<Offer> take_offers() { return std::exchange(offers_, {}); }
  // From now on results come as references to that memory.
  void accept(const memif::Share& share) const;

 private:
  void limit_waiting() const;
  void handshake(std::uint32_t id, MemifRings& rings, std::string_view name);
  memif::Message request(const memif::Message& message, int passed_fd, memif::MessageType answer);
  void send(const memif::Message& message, int passed_fd) const;
  memif::Message expect(memif::MessageType wanted) const;
  using Prospect = MemifConnectError::Prospect;
  [[noreturn]] void fail(const std::string& why, Prospect prospect = Prospect::open) const;

  std::string path_;
  Duration answer_limit_;
  FileDescriptor socket_;
  memif::Told told_{};
  std::vector<Offer> offers_;
};

}  // namespace tributary::worker
