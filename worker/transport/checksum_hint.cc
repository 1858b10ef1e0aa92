#include "worker/transport/checksum_hint.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>

#include "worker/transport/file_descriptor.h"

namespace tributary::worker {

std::string checksum_hint(const std::string& interface, const std::string& driver, bool offloads) {
  const bool is_virtual = driver == "veth" || driver == "tun" || driver == "virtio_net";
  if (!is_virtual || !offloads) return {};
  return " (" + interface + " (" + driver +
         ") leaves UDP checksums unfinished, and a switch that reads raw frames drops them: "
         "ethtool -K " +
         interface + " tx off)";
}

std::string checksum_hint(int interface) {
  std::array<char, IF_NAMESIZE> name{};
  if (interface <= 0 || if_indextoname(static_cast<unsigned>(interface), name.data()) == nullptr)
    return {};
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  const auto ask = [&](void* question) {
    ifreq request{};
    std::string(name.data()).copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = static_cast<char*>(question);
    return ::ioctl(socket.get(), SIOCETHTOOL, &request) == 0;
  };
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  ethtool_value checksums{ETHTOOL_GTXCSUM, 0};
  if (!ask(&driver) || !ask(&checksums)) return {};
  return checksum_hint(name.data(), driver.driver, checksums.data != 0);
}

}  // namespace tributary::worker
