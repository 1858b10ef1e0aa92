#include "tools/client/doctor/interface.h"

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "config/text/codec.h"
#include "core/net/frame.h"
#include "core/wire/header.h"
#include "worker/transport/file_descriptor.h"

namespace tributary::client {
namespace {

using worker::FileDescriptor;

// RTM_GETROUTE: the egress interface and gateway for one address, or an errno.
struct RouteRequest {
  nlmsghdr header{};
  rtmsg route{};
  rtattr attribute{};
  std::uint32_t destination = 0;
};

struct Egress {
  int index = 0;
  std::uint32_t gateway = 0;
};

std::optional<Egress> egress_of(std::uint32_t destination, std::string& error) {
  const FileDescriptor fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  RouteRequest request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.route.rtm_family = AF_INET;
  request.route.rtm_dst_len = 32;
  request.attribute = {RTA_LENGTH(sizeof request.destination), RTA_DST};
  request.destination = htonl(destination);
  if (!fd || ::send(fd.get(), &request, sizeof request, 0) < 0) {
    error = std::strerror(errno);
    return std::nullopt;
  }
  alignas(nlmsghdr) std::array<char, 4096> reply{};
  const ssize_t bytes = ::recv(fd.get(), reply.data(), reply.size(), 0);
  auto left = static_cast<unsigned>(std::max<ssize_t>(bytes, 0));
  const auto* const header = reinterpret_cast<const nlmsghdr*>(reply.data());
  if (!NLMSG_OK(header, left)) {
    error = "the kernel's answer about routes is cut short";
    return std::nullopt;
  }
  if (header->nlmsg_type == NLMSG_ERROR) {
    error = std::strerror(-static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error);
    return std::nullopt;
  }
  auto length = static_cast<int>(RTM_PAYLOAD(header));
  const rtattr* at = RTM_RTA(static_cast<const rtmsg*>(NLMSG_DATA(header)));
  Egress egress;
  for (; RTA_OK(at, length); at = RTA_NEXT(at, length)) {
    if (at->rta_type == RTA_OIF) std::memcpy(&egress.index, RTA_DATA(at), sizeof egress.index);
    if (at->rta_type == RTA_GATEWAY && RTA_PAYLOAD(at) == sizeof egress.gateway)
      std::memcpy(&egress.gateway, RTA_DATA(at), sizeof egress.gateway);
  }
  egress.gateway = ntohl(egress.gateway);
  if (egress.index != 0) return egress;
  error = "the route has no interface";
  return std::nullopt;
}

// The address that a datagram to the switch carries as its source.
std::uint32_t source_for(std::uint32_t destination, std::uint16_t port) {
  const FileDescriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(destination);
  sockaddr_in own{};
  socklen_t length = sizeof own;
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0)
    return 0;
  return ntohl(own.sin_addr.s_addr);
}

ifreq request_for(const std::string& interface) {
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  return request;
}

void ask_interface(RouteFacts& facts) {
  const FileDescriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq flags = request_for(facts.interface);
  if (::ioctl(fd.get(), SIOCGIFFLAGS, &flags) == 0) {
    facts.up = (flags.ifr_flags & IFF_UP) != 0;
    facts.running = (flags.ifr_flags & IFF_RUNNING) != 0;
    facts.multicast = (flags.ifr_flags & IFF_MULTICAST) != 0;
  }
  ifreq mtu = request_for(facts.interface);
  if (::ioctl(fd.get(), SIOCGIFMTU, &mtu) == 0) facts.mtu = static_cast<std::uint32_t>(mtu.ifr_mtu);
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  ifreq about = request_for(facts.interface);
  about.ifr_data = reinterpret_cast<char*>(&driver);
  if (::ioctl(fd.get(), SIOCETHTOOL, &about) == 0) facts.driver = driver.driver;
  ethtool_value checksum{};
  checksum.cmd = ETHTOOL_GTXCSUM;
  about.ifr_data = reinterpret_cast<char*>(&checksum);
  if (::ioctl(fd.get(), SIOCETHTOOL, &about) == 0) facts.tx_checksum_off = checksum.data == 0;
}

}  // namespace

std::uint32_t largest_chunk(std::uint32_t mtu) {
  constexpr std::uint32_t kHeaders =
      wire::kIpv4Bytes + wire::kUdpBytes + wire::kHeaderBytes + kExtensionRoom;
  return mtu > kHeaders ? (mtu - kHeaders) / 64 * 64 : 0;
}

RouteFacts look_at_route(std::uint32_t destination, std::uint16_t port) {
  RouteFacts facts;
  const auto egress = egress_of(destination, facts.error);
  std::array<char, IF_NAMESIZE> name{};
  if (!egress || ::if_indextoname(static_cast<unsigned>(egress->index), name.data()) == nullptr)
    return facts;
  facts.interface = name.data();
  facts.index = egress->index;
  facts.gateway = egress->gateway;
  facts.own_ipv4 = source_for(destination, port);
  ask_interface(facts);
  return facts;
}

Finding judge_mtu(const RouteFacts& route, std::uint32_t chunk_bytes, bool cut) {
  const std::string subject = "interface " + route.interface;
  const std::uint32_t most = largest_chunk(route.mtu);
  const std::string state = "MTU " + std::to_string(route.mtu) + ": chunks of up to " +
                            std::to_string(most) + " bytes fit one packet";
  if (chunk_bytes <= most) return {Finding::Level::ok, subject, state, ""};
  const std::string longer = state + "; the job's have " + std::to_string(chunk_bytes);
  if (cut) return {Finding::Level::ok, subject, longer + ", and go in fragments", ""};
  const std::uint32_t wanted = chunk_bytes + route.mtu - most;
  return {Finding::Level::error, subject, longer,
          "ip link set " + route.interface + " mtu " + std::to_string(wanted) +
              ", on the switch's end too; or a smaller jobs[].chunk_bytes"};
}

Findings judge(const RouteFacts& route) {
  using enum Finding::Level;
  if (route.interface.empty())
    return {{error, "route", "no way to the switch's address: " + route.error,
             "give this host an address in the switch's network, or a route to it (ip route add)"}};
  const std::string& name = route.interface;
  const std::string subject = "interface " + name;
  Findings found;
  found.push_back(
      {ok, "route",
       "through " + name + ", from " + config::format_ipv4(route.own_ipv4) +
           (route.gateway == 0 ? "" : ", by way of gateway " + config::format_ipv4(route.gateway)),
       ""});
  if (!route.up || !route.running)
    found.push_back({error, subject, route.up ? "has no carrier" : "is down",
                     route.up ? "check the cable, or the other end of the pair"
                              : "ip link set " + name + " up"});
  if (!route.multicast)
    found.push_back({warning, subject, "takes no multicast, by which results come",
                     "ip link set " + name + " multicast on"});
  if (route.driver == "veth" && !route.tx_checksum_off)
    found.push_back({error, subject,
                     "is a veth with transmit checksum offload: the switch sees wrong checksums",
                     "ethtool -K " + name + " tx off"});
  return found;
}

}  // namespace tributary::client
