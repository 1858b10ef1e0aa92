#include "worker/transport/route_interface.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "worker/transport/file_descriptor.h"

namespace tributary::worker {
namespace {

// RTM_GETROUTE with one attribute: the destination.
struct Request {
  nlmsghdr header{};
  rtmsg route{};
  rtattr attribute{};
  std::uint32_t destination = 0;
};
static_assert(offsetof(Request, route) == NLMSG_LENGTH(0) &&
              offsetof(Request, attribute) == NLMSG_SPACE(sizeof(rtmsg)));

int interface_of(const nlmsghdr* answer) {
  if (answer->nlmsg_type != RTM_NEWROUTE) return 0;
  const auto* const route = static_cast<const rtmsg*>(NLMSG_DATA(answer));
  auto left = static_cast<int>(RTM_PAYLOAD(answer));
  for (const rtattr* at = RTM_RTA(route); RTA_OK(at, left); at = RTA_NEXT(at, left)) {
    if (at->rta_type != RTA_OIF || RTA_PAYLOAD(at) != sizeof(int)) continue;
    int index = 0;
    std::memcpy(&index, RTA_DATA(at), sizeof index);
    return index;
  }
  return 0;
}

}  // namespace

int route_interface(std::uint32_t ipv4) {
  const FileDescriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket) return 0;
  Request request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.route.rtm_family = AF_INET;
  request.route.rtm_dst_len = 32;
  request.attribute.rta_type = RTA_DST;
  request.attribute.rta_len = RTA_LENGTH(sizeof request.destination);
  request.destination = htonl(ipv4);
  if (::send(socket.get(), &request, sizeof request, 0) != sizeof request) return 0;
  alignas(nlmsghdr) std::array<char, 4096> answer;
  const ssize_t bytes = ::recv(socket.get(), answer.data(), answer.size(), 0);
  const auto* const header = reinterpret_cast<const nlmsghdr*>(answer.data());
  if (bytes < 0 || !NLMSG_OK(header, static_cast<std::size_t>(bytes))) return 0;
  return interface_of(header);
}

}  // namespace tributary::worker
