#include "dataplane/frame/devargs.h"

#include <algorithm>

namespace tributary::dataplane {
namespace {

// af_packet: the ring frame holds the tpacket header, an aligned gap and then the frame.
constexpr std::size_t kAfPacketDefaultFrame = 2048;
constexpr std::size_t kAfPacketFrameOverhead = 80;
// af_xdp: the kernel keeps room for itself in front of each frame (XDP_PACKET_HEADROOM), drops what
// then does not fit without a word to us, and takes packet buffers of a page at most.
constexpr std::size_t kAfXdpHeadroom = 256;
constexpr std::size_t kAfXdpMostMtu = 3000;
// tap: the driver drops what is longer, without a word, and takes no other MTU.
constexpr std::size_t kTapMostMtu = 1500;
// Network cards: their drivers reckon with Ethernet, two tags and an FCS around the MTU, and many
// fill buffers in steps (ixgbe and igc of 1,024 bytes, i40e and ice of 128). A frame that is longer
// than the steps in a buffer comes in several, and what is for jobs has to be in one.
constexpr std::size_t kCardOverhead = 26;
constexpr std::size_t kCardBufferStep = 1024;
constexpr std::size_t kMemifDefaultBuffer = 2048;
constexpr const char* kMemifDefaultRole = "client";

std::string bytes_text(std::size_t bytes) {
  return std::to_string(bytes) + " bytes";
}

}  // namespace

std::size_t data_bytes_needed(const config::PortConfig& port) {
  const Devargs args = parse_devargs(port.devargs);
  std::size_t bytes = largest_frame_bytes(port);
  // The driver refuses a pool whose buffers are smaller than its ring frames.
  if (args.driver == "net_af_packet")
    bytes = std::max(bytes, args.number("framesz", kAfPacketDefaultFrame));
  if (args.driver == "net_af_xdp") bytes += kAfXdpHeadroom;
  if (args.pci())
    bytes = (port.mtu + kCardOverhead + kCardBufferStep - 1) / kCardBufferStep * kCardBufferStep;
  return bytes;
}

std::string check_devargs(const config::PortConfig& port, PortUse use) {
  const Devargs args = parse_devargs(port.devargs);
  const std::size_t frame = largest_frame_bytes(port);
  const std::string needs =
      "mtu " + std::to_string(port.mtu) + " needs frames of " + bytes_text(frame);
  if (args.driver == "net_af_packet") {
    if (!args.get("iface")) return "net_af_packet needs iface=INTERFACE";
    const std::size_t room = args.number("framesz", kAfPacketDefaultFrame);
    if (room < frame + kAfPacketFrameOverhead)
      return needs + ", but framesz=" + std::to_string(room) +
             " is smaller; add framesz=16384,blocksz=65536 or lower the mtu";
  }
  if (args.driver == "net_af_xdp") {
    if (!args.get("iface")) return "net_af_xdp needs iface=INTERFACE";
    if (port.mtu > kAfXdpMostMtu)
      return needs + ", and packet buffers for XDP have to fit a page; lower the mtu to " +
             std::to_string(kAfXdpMostMtu);
  }
  if (args.driver == "net_tap" && port.mtu > kTapMostMtu)
    return needs + ", and a tap carries no jumbo frames; lower the mtu to " +
           std::to_string(kTapMostMtu);
  if (args.driver == "net_virtio_user" && args.number("server", 0) != 0)
    return "server=1 waits for its peer before any other port is opened, and cannot be ended; let "
           "the peer serve the socket, or serve it with net_vhost0,iface=PATH";
  if (args.driver == "net_memif") {
    const char* const role = use == PortUse::forwarding ? "server" : "client";
    if (args.get("role").value_or(kMemifDefaultRole) != role)
      return std::string("the switch is the memif server; write role=") + role;
    if (args.get("zero-copy").value_or("no") != "no")
      return "zero-copy would map this process's memory into the peer; leave it out";
    const std::size_t room = args.number("bsize", kMemifDefaultBuffer);
    if (room < frame)
      return needs + ", but bsize=" + std::to_string(room) +
             " is smaller; write bsize=" + std::to_string((frame + 255) / 256 * 256) +
             " on both ends or lower the mtu";
  }
  return {};
}

}  // namespace tributary::dataplane
