#include "tools/client/doctor/packet_size.h"

#include <string>

#include "core/net/frame.h"
#include "core/wire/header.h"
#include "tools/client/doctor/interface.h"

namespace tributary::client {
namespace {

using enum Finding::Level;
using End = SizeFacts::End;

// The largest number below `lost` that gets through; 0 does.
template <typename Passes>
std::uint32_t largest_that(std::uint32_t lost, Passes passes) {
  std::uint32_t good = 0;
  while (lost - good > 1) {
    const std::uint32_t middle = good + (lost - good) / 2;
    (passes(middle) ? good : lost) = middle;
  }
  return good;
}

}  // namespace

std::uint32_t packet_bytes(std::uint32_t chunk_bytes) {
  return chunk_bytes +
         static_cast<std::uint32_t>(wire::kIpv4Bytes + wire::kUdpBytes + wire::kHeaderBytes) +
         kExtensionRoom;
}

SizeFacts try_size(const AskSize& ask, std::uint32_t chunk_bytes) {
  SizeFacts facts{.packet = packet_bytes(chunk_bytes)};
  const ProbeAnswer whole = ask(chunk_bytes, chunk_bytes);
  if (whole.too_long) {
    facts.end = End::too_long;
  } else if (whole.answered) {
    facts.end = whole.bytes != 0 ? End::whole : End::unknown;
  } else if (ask(chunk_bytes, 0).answered) {
    facts.end = End::lost_back;
    facts.largest = packet_bytes(largest_that(
        chunk_bytes, [&](std::uint32_t bytes) { return ask(chunk_bytes, bytes).answered; }));
  } else {
    facts.end = End::lost_there;
    facts.largest = packet_bytes(
        largest_that(chunk_bytes, [&](std::uint32_t bytes) { return ask(bytes, 0).answered; }));
  }
  return facts;
}

Finding judge(const SizeFacts& facts, std::uint32_t job, std::uint32_t known_mtu) {
  const std::string size = std::to_string(facts.packet);
  const std::string packets =
      "packets of " + size + " bytes, as job " + std::to_string(job) + " sends them,";
  const std::string up_to = "; those of up to " + std::to_string(facts.largest) + " do";
  const std::string smaller =
      ", or a smaller jobs[].chunk_bytes (at most " +
      std::to_string(largest_chunk(facts.end == End::too_long ? known_mtu : facts.largest)) + ")";
  const std::string every = "set an MTU of " + size +
                            " on every link, bridge and router on the way, and on the switch's "
                            "interface and port (ports[].mtu; tributary show ports)";
  switch (facts.end) {
    case End::whole: return {ok, "packet size", packets + " get to the switch and back", ""};
    case End::unknown:
      return {ok, "packet size",
              packets +
                  " get to the switch; it is of an earlier version, and the way back is not "
                  "tried",
              ""};
    case End::lost_there:
      return {error, "way to the switch", packets + " do not arrive" + up_to, every + smaller};
    case End::lost_back:
      return {error, "way back from the switch", packets + " do not arrive" + up_to,
              every + smaller};
    case End::too_long:
      return {error, "way to the switch",
              packets + " are longer than its MTU, " + std::to_string(known_mtu) +
                  ", which a router on the way may have told",
              every + smaller};
  }
  return {};
}

}  // namespace tributary::client
