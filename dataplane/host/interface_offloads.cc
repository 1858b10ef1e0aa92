#include "dataplane/host/interface_offloads.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace tributary::dataplane {
namespace {

// 0: it is off, or the device does not know it.
std::uint32_t ask(int socket, const std::string& interface, std::uint32_t command) {
  ethtool_value value{command, 0};
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&value);
  return ioctl(socket, SIOCETHTOOL, &request) == 0 ? value.data : 0;
}

}  // namespace

bool merges_frames(const std::string& interface) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  const bool merges = ask(socket, interface, ETHTOOL_GGRO) != 0 ||
                      (ask(socket, interface, ETHTOOL_GFLAGS) & ETH_FLAG_LRO) != 0;
  ::close(socket);
  return merges;
}

}  // namespace tributary::dataplane
