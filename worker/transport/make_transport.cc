// Chooses a transport by the scheme of its address.
#include <arpa/inet.h>

#include <charconv>
#include <stdexcept>

#include "config/model/switch_config.h"
#include "worker/transport/memif_transport.h"
#include "worker/transport/transport.h"
#include "worker/transport/udp_transport.h"

namespace tributary::worker {
namespace {

constexpr std::string_view kUdpScheme = "udp://";
constexpr std::string_view kMemifScheme = "memif://";

[[noreturn]] void refuse(const std::string& address, const std::string& why) {
  throw std::invalid_argument("address \"" + address + "\": " + why +
                              "; write udp://SWITCH_IPV4[:PORT] or "
                              "memif:///SOCKET?id=N&switch=IPV4[&port=PORT][&ip=OWN_IPV4]");
}

std::unique_ptr<Transport> make_udp(const std::string& address) {
  const std::string rest = address.substr(kUdpScheme.size());
  const std::size_t colon = rest.find(':');
  in_addr ip{};
  if (inet_pton(AF_INET, rest.substr(0, colon).c_str(), &ip) != 1)
    refuse(address, "no IPv4 address after udp://");
  std::uint16_t port = config::kDefaultUdpBasePort;
  if (colon != std::string::npos) {
    const char* const end = rest.data() + rest.size();
    const auto [at, error] = std::from_chars(rest.data() + colon + 1, end, port);
    if (error != std::errc{} || at != end || port == 0)
      refuse(address, "port is not a number from 1 to 65535");
  }
  return std::make_unique<UdpTransport>(ntohl(ip.s_addr), port);
}

}  // namespace

// A memif worker's own addresses derive from job and rank; those of a UDP worker are its host's.
std::unique_ptr<Transport> make_transport(const std::string& address, std::uint32_t job,
                                          std::uint32_t rank, const Patience& patience) {
  if (address.starts_with(kUdpScheme)) return make_udp(address);
  if (address.starts_with(kMemifScheme)) return make_memif_transport(address, job, rank, patience);
  refuse(address, "unknown scheme");
}

}  // namespace tributary::worker
