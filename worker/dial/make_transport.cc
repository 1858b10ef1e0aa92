// Selects a transport by the scheme of its address.
#include <arpa/inet.h>

#include <charconv>
#include <stdexcept>

#include "config/model/switch_config.h"
#include "worker/memif/memif_transport.h"
#include "worker/rdma/rdma_transport.h"
#include "worker/transport/transport.h"
#include "worker/transport/udp_transport.h"

namespace tributary::worker {
namespace {

constexpr std::string_view kUdpScheme = "udp://";
constexpr std::string_view kMemifScheme = "memif://";

[[noreturn]] void refuse(const std::string& address, const std::string& why) {
  throw std::invalid_argument("address \"" + address + "\": " + why +
                              "; write udp://SWITCH_IPV4[:PORT], rdma://SWITCH_IPV4[:PORT] or "
                              "memif:///SOCKET[?id=N&switch=IPV4&port=PORT&ip=OWN_IPV4]");
}

struct HostPort {
  std::uint32_t ipv4 = 0;
  std::uint16_t port = config::kDefaultUdpBasePort;
};

// The rest of an address behind its scheme: SWITCH_IPV4[:PORT].
HostPort parse_host(const std::string& address, std::string_view scheme) {
  const std::string rest = address.substr(scheme.size());
  const std::size_t colon = rest.find(':');
  HostPort to;
  in_addr ip{};
  if (inet_pton(AF_INET, rest.substr(0, colon).c_str(), &ip) != 1)
    refuse(address, "no IPv4 address after " + std::string(scheme));
  to.ipv4 = ntohl(ip.s_addr);
  if (colon != std::string::npos) {
    const char* const end = rest.data() + rest.size();
    const auto [at, error] = std::from_chars(rest.data() + colon + 1, end, to.port);
    if (error != std::errc{} || at != end || to.port == 0)
      refuse(address, "port is not a number from 1 to 65535");
  }
  return to;
}

}  // namespace

// A memif worker's own address derives from job and rank; a UDP worker's is its host's.
std::unique_ptr<Transport> make_transport(const std::string& address, std::uint32_t job,
                                          std::uint32_t rank, const Patience& patience) {
  if (address.starts_with(kUdpScheme)) {
    const HostPort to = parse_host(address, kUdpScheme);
    return std::make_unique<UdpTransport>(to.ipv4, to.port);
  }
  if (address.starts_with(kRdmaScheme)) {
    const HostPort to = parse_host(address, kRdmaScheme);
    return std::make_unique<RdmaTransport>(UdTarget{to.ipv4, to.port, job, rank}, patience);
  }
  if (address.starts_with(kMemifScheme)) return make_memif_transport(address, job, rank, patience);
  refuse(address, "unknown scheme");
}

}  // namespace tributary::worker
