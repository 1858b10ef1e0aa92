// One memif socket: the ports that are reached by it, and the clients that have come.
//
//   accepted, HELLO sent ──messages──▶ has a port, connected ──its socket, or its process, ends──▶
//   gone
//        └─ refused: DISCONNECT says why            └─ the port goes, or it broke the protocol
//
// Few may be in the handshake at the same time: a further one takes the place of the oldest. Used
// by one thread at a time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <list>
#include <string>
#include <vector>

#include "core/counter.h"
#include "dataplane/memif/memif_handshake.h"
#include "dataplane/memif/memif_port.h"
#include "worker/transport/file_descriptor.h"

namespace tributary::dataplane {

struct MemifClientCounters {
  Counter gone;     // before they were connected
  Counter refused;  // with a reason
};

class MemifListener {
 public:
  static constexpr std::size_t kMostUnfinished = 16;

  // Binds the socket. Throws std::system_error.
  MemifListener(const MemifSettings& settings, MemifClientCounters& counters);
  // No port is left; removes the file.
  ~MemifListener();
  MemifListener(const MemifListener&) = delete;
  MemifListener& operator=(const MemifListener&) = delete;

  [[nodiscard]] bool is_at(const MemifSettings& settings) const {
    return path_ == settings.socket && abstract_ == settings.abstract;
  }
  [[nodiscard]] bool has_ports() const { return !ports_.empty(); }
  [[nodiscard]] bool serves(std::uint32_t id) const;
  [[nodiscard]] bool has_device(const std::string& name) const;

  void add(MemifPort& port) { ports_.push_back(&port); }
  // Throws std::system_error.
  void open(MemifPort& port);
  void remove(MemifPort& port);
  void disconnect(const MemifPort& port, const std::string& why);

  // Descriptors to wait for; then what came at those that are ready.
  void list(std::vector<int>& descriptors) const;
  void handle(const std::vector<int>& ready);
  // The process is short of descriptors: the listener need not be looked at for a while.
  [[nodiscard]] bool is_short() const { return short_; }

 private:
  struct Client {
    worker::FileDescriptor socket;
    MemifHandshake handshake;
    MemifPort* port = nullptr;  // once connected
    // Its process, where the kernel shows it (pidfd_open(2)): a child that fork() made keeps the
    // socket open.
    worker::FileDescriptor process = {};
    uid_t user = 0;
  };
  using Clients = std::list<Client>;

  [[nodiscard]] MemifPort* find(std::uint32_t id) const;
  // For a client that takes any.
  [[nodiscard]] const MemifPort* find_free() const;
  void accept_all();
  void greet(worker::FileDescriptor socket);
  void make_room();
  // Returns the one after it.
  Clients::iterator read(Clients::iterator client);
  void take(Client& client, const worker::memif::Message& message, worker::FileDescriptor passed);
  void connect(Client& client);
  static void pass_offers(const Client& client);
  // Throws MemifRefusal where the client's user has as many ports as this one allows.
  void check_user(const Client& client, const MemifPort& port) const;
  // `itself`: by its own doing, not the switch's.
  Clients::iterator end(Clients::iterator client, bool itself);
  Clients::iterator refuse(Clients::iterator client, const std::string& why);

  std::string path_;
  bool abstract_;
  MemifClientCounters& counters_;
  worker::FileDescriptor socket_;
  std::vector<MemifPort*> ports_;
  std::vector<MemifPort*> open_;
  Clients clients_;  // the oldest first
  bool short_ = false;
};

}  // namespace tributary::dataplane
