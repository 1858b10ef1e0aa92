#include "dataplane/port/memif_rings.h"

#include <dlfcn.h>
#include <rte_interrupts.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "dataplane/port/memif_listeners.h"
#include "worker/transport/memif_format.h"

namespace tributary::dataplane {
namespace {

namespace memif = worker::memif;
using Receive = ssize_t (*)(int, msghdr*, int);

// The C library's, or a sanitizer's.
Receive next_receive() {
  static const auto next = reinterpret_cast<Receive>(dlsym(RTLD_NEXT, "recvmsg"));
  return next;
}

std::string key_of(const std::string& socket, std::uint32_t id) {
  return socket + '#' + std::to_string(id);
}

std::mutex g_guard;  // of what follows
std::map<std::string, std::uint16_t> g_wanted;

std::uint16_t wanted(const std::string& key) {
  const std::lock_guard lock(g_guard);
  const auto found = g_wanted.find(key);
  return found == g_wanted.end() ? std::uint16_t{0} : found->second;
}

// What a client has said on its connection so far. Interrupt thread only.
struct Client {
  std::uint16_t wanted = 0;  // 0: the port takes what comes
  std::uint16_t to_server = 0;
  std::uint16_t to_client = 0;
};
thread_local std::map<int, Client> t_clients;

void refuse(int socket, const Client& client) {
  const std::uint16_t made = std::min(client.to_server, client.to_client);
  const std::string text = "the port has queues: " + std::to_string(client.wanted) +
                           ", the client makes " + std::to_string(made) + " of these rings";
  memif::Message bye{};
  bye.type = memif::MessageType::disconnect;
  text.copy(bye.disconnect.text.data(), bye.disconnect.text.size() - 1);
  (void)send(socket, &bye, sizeof bye, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// False: the connection is to end.
bool take(int socket, const memif::Message& message) {
  if (message.type == memif::MessageType::init) {
    t_clients[socket] = {.wanted = wanted(key_of(unix_path_of(socket), message.init.id))};
    return true;
  }
  const auto found = t_clients.find(socket);
  if (found == t_clients.end()) return true;
  Client& client = found->second;
  if (message.type == memif::MessageType::add_ring) {
    auto& rings = (message.add_ring.flags & memif::kAddRingClientToServer) != 0 ? client.to_server
                                                                                : client.to_client;
    rings = std::max<std::uint16_t>(rings, static_cast<std::uint16_t>(message.add_ring.index + 1));
    return true;
  }
  if (message.type != memif::MessageType::connect) return true;
  const bool enough = std::min(client.to_server, client.to_client) >= client.wanted;
  if (!enough) refuse(socket, client);
  t_clients.erase(found);
  return enough;
}

}  // namespace

void want_memif_rings(const std::string& socket, std::uint32_t id, std::uint16_t queues) {
  const std::lock_guard lock(g_guard);
  g_wanted[key_of(socket, id)] = queues;
}

void count_memif_rings() {
  next_receive();
}

}  // namespace tributary::dataplane

extern "C" ssize_t recvmsg(int socket, msghdr* message, int flags) {
  using namespace tributary::dataplane;
  const ssize_t received = next_receive()(socket, message, flags);
  if (received != sizeof(memif::Message) || message->msg_iovlen != 1 || rte_thread_is_intr() == 0)
    return received;
  memif::Message said;
  std::memcpy(&said, message->msg_iov[0].iov_base, sizeof said);
  return take(socket, said) ? received : 0;  // 0: as if the client had left
}
