#include "dataplane/port/memif_hello.h"

#include <dlfcn.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "worker/transport/memif_format.h"

namespace {

using Send = ssize_t (*)(int, const msghdr*, int);
namespace memif = tributary::worker::memif;

tributary::Counter g_gone;

// The C library's, or a sanitizer's.
Send next_send() {
  static const Send next = reinterpret_cast<Send>(dlsym(RTLD_NEXT, "sendmsg"));
  return next;
}

bool is_hello(const msghdr& message) {
  if (message.msg_iovlen != 1 || message.msg_iov[0].iov_len != sizeof(memif::Message)) return false;
  auto type = memif::MessageType::none;
  std::memcpy(&type, message.msg_iov[0].iov_base, sizeof type);
  return type == memif::MessageType::hello;
}

bool is_of_memif(int socket) {
  int domain = 0;
  int type = 0;
  socklen_t length = sizeof domain;
  return getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX &&
         getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

}  // namespace

extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  const ssize_t sent = next_send()(socket, message, flags);
  if (sent >= 0 || (errno != EPIPE && errno != ECONNRESET)) return sent;
  const int why = errno;
  if (is_hello(*message) && is_of_memif(socket)) {
    g_gone.add();
    return sizeof(memif::Message);
  }
  errno = why;
  return sent;
}

namespace tributary::dataplane {

void outlive_memif_clients() {
  next_send();
}

const Counter& memif_clients_gone() {
  return g_gone;
}

}  // namespace tributary::dataplane
