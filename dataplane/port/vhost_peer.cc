#include "dataplane/port/vhost_peer.h"

#include <fcntl.h>
#include <rte_ethdev.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "worker/transport/file_descriptor.h"

namespace tributary::dataplane {

// On DPDK's thread for vhost-user, after the last burst and before anything is unmapped.
struct VhostPeer::Callback {
  static int on_link(std::uint16_t ethdev, rte_eth_event_type /*event*/, void* peer,
                     void* /*result*/) {
    rte_eth_link link{};
    if (rte_eth_link_get_nowait(ethdev, &link) == 0 && link.link_status == RTE_ETH_LINK_DOWN)
      static_cast<VhostPeer*>(peer)->departures_.fetch_add(1);
    return 0;
  }
};

namespace {

using Ask = int (*)(int, sockaddr*, socklen_t*);

bool is_at(int fd, std::string_view path, Ask ask) {
  sockaddr_un address{};
  socklen_t length = sizeof address;
  if (ask(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      address.sun_family != AF_UNIX || length <= offsetof(sockaddr_un, sun_path))
    return false;
  const std::size_t room = length - offsetof(sockaddr_un, sun_path);
  return std::string_view(address.sun_path, ::strnlen(address.sun_path, room)) == path;
}

bool is_connection(int fd, std::string_view path) {
  int listens = 1;
  socklen_t length = sizeof listens;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens == 0 &&
         (is_at(fd, path, getsockname) || is_at(fd, path, getpeername));
}

}  // namespace

VhostPeer::VhostPeer(std::uint16_t ethdev, std::string socket)
    : ethdev_(ethdev), socket_(std::move(socket)) {
  rte_eth_dev_callback_register(ethdev_, RTE_ETH_EVENT_INTR_LSC, Callback::on_link, this);
}

VhostPeer::~VhostPeer() {
  while (rte_eth_dev_callback_unregister(ethdev_, RTE_ETH_EVENT_INTR_LSC, Callback::on_link,
                                         this) == -EAGAIN)
    sched_yield();  // it is being called
}

// The connection is DPDK's, which does not say which it is: it is the one at that path. A
// descriptor of our own stays what it is while DPDK closes its own.
void VhostPeer::disconnect() const {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", none)) {
    const int fd = std::atoi(entry.path().filename().c_str());
    struct stat status {};
    if (::fstat(fd, &status) != 0 || !S_ISSOCK(status.st_mode)) continue;
    const worker::FileDescriptor own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (is_connection(own.get(), socket_)) ::shutdown(own.get(), SHUT_RDWR);
  }
}

}  // namespace tributary::dataplane
