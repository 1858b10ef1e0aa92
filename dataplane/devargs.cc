#include "dataplane/devargs.h"

#include <algorithm>
#include <cctype>
#include <charconv>

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
constexpr std::size_t kMemifDefaultBuffer = 2048;
constexpr const char* kMemifDefaultRole = "client";

bool looks_like_pci(std::string_view device) {
  // [domain:]bus:device.function
  return device.find(':') != std::string_view::npos && device.find('.') != std::string_view::npos;
}

std::string bytes_text(std::size_t bytes) {
  return std::to_string(bytes) + " bytes";
}

}  // namespace

std::optional<std::string_view> Devargs::get(std::string_view key) const {
  for (const auto& [name, value] : arguments)
    if (name == key) return value;
  return std::nullopt;
}

std::size_t Devargs::number(std::string_view key, std::size_t fallback) const {
  const auto text = get(key);
  if (!text) return fallback;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc{} && end == text->data() + text->size() ? value : fallback;
}

Devargs parse_devargs(std::string_view text) {
  Devargs out;
  std::size_t comma = text.find(',');
  out.device = text.substr(0, comma);
  while (comma != std::string_view::npos) {
    text.remove_prefix(comma + 1);
    comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const std::size_t equals = item.find('=');
    out.arguments.emplace_back(item.substr(0, equals), equals == std::string_view::npos
                                                           ? std::string_view{}
                                                           : item.substr(equals + 1));
  }
  if (!looks_like_pci(out.device)) {
    out.driver = out.device;
    while (!out.driver.empty() && std::isdigit(static_cast<unsigned char>(out.driver.back())) != 0)
      out.driver.pop_back();
  }
  return out;
}

std::size_t data_bytes_needed(const config::PortConfig& port) {
  const Devargs args = parse_devargs(port.devargs);
  std::size_t bytes = largest_frame_bytes(port);
  // The driver refuses a pool whose buffers are smaller than its ring frames.
  if (args.driver == "net_af_packet")
    bytes = std::max(bytes, args.number("framesz", kAfPacketDefaultFrame));
  if (args.driver == "net_af_xdp") bytes += kAfXdpHeadroom;
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
