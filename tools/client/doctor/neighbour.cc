#include "tools/client/doctor/neighbour.h"

#include <arpa/inet.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "config/text/codec.h"
#include "worker/transport/file_descriptor.h"

namespace tributary::client {
namespace {

// The kernel waits 5 s before it asks a known host again, and asks it six times, 1 s apart.
constexpr auto kPatience = std::chrono::seconds(13);
constexpr auto kPause = std::chrono::milliseconds(100);

struct NeighbourRequest {
  nlmsghdr header{};
  ndmsg neighbour{};
};

// State of the entry in one message; nullopt: it is of another interface or address.
std::optional<std::uint16_t> state_in(const nlmsghdr* message, int index, std::uint32_t address) {
  const auto* const entry = static_cast<const ndmsg*>(NLMSG_DATA(message));
  if (entry->ndm_ifindex != index) return std::nullopt;
  auto length = static_cast<int>(message->nlmsg_len - NLMSG_LENGTH(sizeof *entry));
  const auto* at = reinterpret_cast<const rtattr*>(reinterpret_cast<const char*>(entry) +
                                                   NLMSG_ALIGN(sizeof *entry));
  for (; RTA_OK(at, length); at = RTA_NEXT(at, length)) {
    std::uint32_t of = 0;
    if (at->rta_type != NDA_DST || RTA_PAYLOAD(at) != sizeof of) continue;
    std::memcpy(&of, RTA_DATA(at), sizeof of);
    if (ntohl(of) == address) return entry->ndm_state;
  }
  return std::nullopt;
}

// NUD_* of the kernel's entry; nullopt: it has none, or does not tell.
std::optional<std::uint16_t> neighbour_state(int index, std::uint32_t address) {
  const worker::FileDescriptor fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  NeighbourRequest request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETNEIGH;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.neighbour.ndm_family = AF_INET;
  if (!fd || ::send(fd.get(), &request, sizeof request, 0) < 0) return std::nullopt;
  std::optional<std::uint16_t> state;
  for (;;) {
    alignas(nlmsghdr) std::array<char, 32768> reply;
    const ssize_t bytes = ::recv(fd.get(), reply.data(), reply.size(), 0);
    if (bytes <= 0) return state;
    auto left = static_cast<unsigned>(bytes);
    const auto* message = reinterpret_cast<const nlmsghdr*>(reply.data());
    for (; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type != RTM_NEWNEIGH) return state;  // done, or an error
      if (const auto found = state_in(message, index, address)) state = found;
    }
  }
}

}  // namespace

ArpAnswer look_at_neighbour(const RouteFacts& route, std::uint32_t destination) {
  const std::uint32_t next = route.gateway != 0 ? route.gateway : destination;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const auto state = neighbour_state(route.index, next);
    if (!state || (*state & (NUD_NOARP | NUD_PERMANENT)) != 0) return ArpAnswer::unknown;
    if ((*state & (NUD_INCOMPLETE | NUD_FAILED)) != 0) return ArpAnswer::none;
    const bool asks = (*state & (NUD_DELAY | NUD_PROBE)) != 0;
    if (!asks) return ArpAnswer::came;
    if (std::chrono::steady_clock::now() >= end) return ArpAnswer::unknown;
    std::this_thread::sleep_for(kPause);
  }
}

Finding judge_silence(const RouteFacts& route, ArpAnswer arp, const std::string& address) {
  using enum Finding::Level;
  const std::string subject = "switch " + address;
  const std::string gateway =
      route.gateway == 0 ? "" : "gateway " + config::format_ipv4(route.gateway);
  if (arp == ArpAnswer::none && !gateway.empty())
    return {
        error, gateway, "does not answer ARP on " + route.interface + ": nothing gets farther",
        "is it the right one (ip route)? Is it up, and in the VLAN of " + route.interface + "?"};
  if (arp == ArpAnswer::none)
    return {error, subject,
            "no host answers ARP for it on " + route.interface +
                ": the switch is not running, its port is down, or is in another VLAN",
            "at the switch: systemctl status tributary-switchd, tributary show ports, tributary "
            "show vlans"};
  if (arp == ArpAnswer::came && gateway.empty())
    return {error, subject, "answers ARP, but no packets of a job",
            "at the switch: tributary show drops says why; tributary show acl has rules that deny. "
            "Is there a firewall between?"};
  if (arp == ArpAnswer::came)
    return {error, subject, "does not answer; " + gateway + " answers ARP",
            "is the switch running, and does it know the way back (routes, tributary show "
            "neighbours)? Does a firewall drop UDP?"};
  return {error, subject, "does not answer",
          "is it running (systemctl status tributary-switchd), is its port up (tributary show "
          "ports), does a firewall drop UDP?"};
}

}  // namespace tributary::client
