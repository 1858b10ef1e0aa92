#include "tools/client/doctor/udp_way.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "config/model/switch_config.h"
#include "tools/client/doctor/interface.h"
#include "tools/client/doctor/neighbour.h"
#include "tools/client/doctor/packet_size.h"

namespace tributary::client {
namespace {

// Most sizes that are tried are lost.
constexpr int kSizeTries = 2;
constexpr Duration kSizePatience = Duration::ms(200);
constexpr std::uint32_t kMostBytes = 0xFFFF - kExtensionRoom;

bool is_good(const Findings& found) {
  return !has_errors(found);
}

// Packets of the job's size, both ways, where this host can send them.
void check_sizes(SwitchProbe& probe, const UdpWay& way, const ProbeAnswer& answer,
                 std::uint32_t chunk_bytes, Findings& found) {
  if (answer.fragments) probe.allow_fragments();
  const auto ask = [&](std::uint32_t bytes, std::uint32_t wanted) {
    return probe.ask({way.job, way.rank, bytes, wanted}, kSizeTries, kSizePatience);
  };
  const SizeFacts facts = try_size(ask, std::min(chunk_bytes, kMostBytes));
  found.push_back(judge(facts, way.job, probe.known_mtu()));
}

void check_rank(const UdpWay& way, const ProbeAnswer& answer, const ProbeQuestion& question,
                Findings& found) {
  const auto ask = [&](std::uint32_t ipv4) { return SwitchProbe(ipv4, way.port).ask(question); };
  found.push_back(judge_leaf(answer, find_leaf(answer, ask), way.address, question));
}

Findings check(const UdpWay& way) {
  const RouteFacts route = look_at_route(way.ipv4, way.port);
  Findings found = judge(route);
  if (route.interface.empty()) return found;
  SwitchProbe probe(way.ipv4, way.port);
  const ProbeQuestion question{way.job, way.rank, 0, 0};
  const ProbeAnswer answer = probe.ask(question);
  const bool settled = way.chunk_bytes != 0 || !answer.settings;
  const std::uint32_t chunk_bytes = settled ? way.chunk_bytes : answer.settings->chunk_bytes;
  found.push_back(judge_mtu(route, chunk_bytes, answer.fragments));
  const bool sends = is_good(found);
  if (!answer.answered && !answer.port_closed) {
    found.push_back(judge_silence(route, look_at_neighbour(route, way.ipv4), way.address));
    return found;
  }
  if (refuses_rank(answer, question))
    check_rank(way, answer, question, found);
  else
    found.push_back(judge(answer, way.address, question));
  const bool has_job = answer.answered && answer.reason != wire::Reason::unknown_job;
  if (has_job && sends && chunk_bytes != 0) check_sizes(probe, way, answer, chunk_bytes, found);
  return found;
}

}  // namespace

std::optional<UdpWay> parse_udp_way(const std::string& address) {
  constexpr std::string_view kScheme = "udp://";
  if (!address.starts_with(kScheme)) return std::nullopt;
  const std::string rest = address.substr(kScheme.size());
  const std::size_t colon = rest.find(':');
  UdpWay way{.address = address, .port = config::kDefaultUdpBasePort};
  in_addr ip{};
  if (inet_pton(AF_INET, rest.substr(0, colon).c_str(), &ip) != 1) return std::nullopt;
  way.ipv4 = ntohl(ip.s_addr);
  if (colon == std::string::npos) return way;
  const char* const end = rest.data() + rest.size();
  const auto [at, error] = std::from_chars(rest.data() + colon + 1, end, way.port);
  if (error != std::errc{} || at != end || way.port == 0) return std::nullopt;
  return way;
}

Findings check_udp_way(const UdpWay& way, const std::function<DropsLook()>& drops) {
  const DropsLook before = drops ? drops() : DropsLook();
  Findings found = check(way);
  if (!drops || is_good(found)) return found;
  const Findings dropped = judge_probe_drops(before, drops());
  found.insert(found.end(), dropped.begin(), dropped.end());
  return found;
}

}  // namespace tributary::client
