#include "dataplane/frame/devargs.h"

#include <algorithm>

namespace tributary::dataplane {
namespace {

// Network cards: their drivers reckon with Ethernet, two tags and an FCS around the MTU, and many
// fill buffers in steps (ixgbe and igc of 1,024 bytes, i40e and ice of 128). A frame that is longer
// than the steps in a buffer comes in several, and what is for jobs has to be in one.
constexpr std::size_t kCardOverhead = 26;
constexpr std::size_t kCardBufferStep = 1024;
constexpr const char* kMemifDefaultRole = "client";

std::string bytes_text(std::size_t bytes) {
  return std::to_string(bytes) + " bytes";
}

// Bytes of the driver's own buffer for a frame.
std::size_t room_of(const Devargs& args) {
  return args.number(args.kind->room.key, args.kind->room.fallback);
}

std::string check_role(const Devargs& args, PortUse use) {
  const char* const role = use == PortUse::forwarding ? "server" : "client";
  if (args.get("role").value_or(kMemifDefaultRole) == role) return {};
  return std::string("the switch is the memif server; write role=") + role;
}

std::string check_room(const Devargs& args, std::size_t frame, const std::string& needs) {
  const config::FrameRoom& room = args.kind->room;
  if (room.key.empty() || room_of(args) >= frame + room.overhead) return {};
  const std::string key(room.key);
  const std::string remedy =
      room.fills_buffers
          ? "add " + key + "=16384,blocksz=65536"
          : "write " + key + "=" + std::to_string((frame + 255) / 256 * 256) + " on both ends";
  return needs + ", but " + key + "=" + std::to_string(room_of(args)) + " is smaller; " + remedy +
         " or lower the mtu";
}

}  // namespace

std::size_t data_bytes_needed(const config::PortConfig& port) {
  const Devargs args = parse_devargs(port.devargs);
  if (args.pci())
    return (port.mtu + kCardOverhead + kCardBufferStep - 1) / kCardBufferStep * kCardBufferStep;
  std::size_t bytes = largest_frame_bytes(port);
  if (args.kind->room.fills_buffers) bytes = std::max(bytes, room_of(args));
  return bytes + args.kind->headroom;
}

std::string check_devargs(const config::PortConfig& port, PortUse use) {
  const Devargs args = parse_devargs(port.devargs);
  const config::PortKind& kind = *args.kind;
  const std::string needs = "mtu " + std::to_string(port.mtu) + " needs frames of " +
                            bytes_text(largest_frame_bytes(port));
  if (std::string wrong = config::wrong_key(args); !wrong.empty()) return wrong;
  if (kind.needs_interface && args.interface().empty())
    return args.driver + " needs iface=INTERFACE";
  if (kind.most_mtu != 0 && port.mtu > kind.most_mtu)
    return needs + ", and " + std::string(kind.most_mtu_why) + "; lower the mtu to " +
           std::to_string(kind.most_mtu);
  if (kind.memif)
    if (std::string wrong = check_role(args, use); !wrong.empty()) return wrong;
  if (!kind.demand.key.empty() &&
      args.get(kind.demand.key).value_or(kind.demand.value) != kind.demand.value)
    return std::string(kind.demand.why);
  return check_room(args, largest_frame_bytes(port), needs);
}

}  // namespace tributary::dataplane
