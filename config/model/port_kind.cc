#include "config/model/port_kind.h"

#include <algorithm>
#include <vector>

#include "config/model/devargs.h"
#include "config/text/nearest.h"

namespace tributary::config {
namespace {

using Word = std::string_view;

constexpr auto kAfPacketKeys =
    std::to_array<Word>({"iface", "qpairs", "blocksz", "framesz", "framecnt", "qdisc_bypass"});
constexpr auto kAfXdpKeys =
    std::to_array<Word>({"iface", "start_queue", "queue_count", "shared_umem", "xdp_prog",
                         "busy_budget", "force_copy"});
constexpr auto kMemifKeys =
    std::to_array<Word>({"id", "role", "bsize", "rsize", "socket", "socket-abstract", "mac",
                         "zero-copy", "secret", "per-user"});
constexpr auto kNullKeys = std::to_array<Word>({"size", "copy", "no-rx"});
constexpr auto kPcapKeys = std::to_array<Word>({"rx_pcap", "tx_pcap", "rx_iface", "rx_iface_in",
                                                "tx_iface", "iface", "phy_mac", "infinite_rx"});
constexpr auto kRingKeys = std::to_array<Word>({"nodeaction", "internal"});
constexpr auto kTapKeys = std::to_array<Word>({"iface", "mac", "remote", "persist"});
constexpr auto kVhostKeys =
    std::to_array<Word>({"iface", "queues", "client", "iommu-support", "postcopy-support", "tso",
                         "linear-buffer", "ext-buffer", "legacy-ol-flags"});
constexpr auto kVirtioUserKeys =
    std::to_array<Word>({"path", "mac", "cq", "queue_size", "queues", "iface", "server",
                         "mrg_rxbuf", "in_order", "packed_vq", "speed", "vectorized"});

constexpr auto kKinds = std::to_array<PortKind>({
    {.driver = "",
     .card = true,
     .hint = "the device must be bound to vfio-pci, and the process may open it"},
    {.driver = "net_af_packet",
     .words = {"net_af_packet", "eth_af_packet"},
     .keys = kAfPacketKeys,
     .binding = Binding::opens,
     .needs_interface = true,
     .claims = Claiming::interface,
     // A ring frame holds the tpacket header, an aligned gap and then the frame; the driver refuses
     // a pool whose buffers are smaller than its ring frames.
     .room = {.key = "framesz", .fallback = 2048, .overhead = 80, .fills_buffers = true},
     .hears_others_first = true,
     .hint = "interface '{}' must be up, and the process needs CAP_NET_RAW"},
    {.driver = "net_af_xdp",
     .words = {"net_af_xdp"},
     .keys = kAfXdpKeys,
     .binding = Binding::opens,
     .needs_interface = true,
     .claims = Claiming::interface_queues,
     .most_mtu = 3000,
     .most_mtu_why = "packet buffers for XDP have to fit a page",
     // XDP_PACKET_HEADROOM: the kernel silently drops frames that do not fit behind it.
     .headroom = 256,
     .fill_buffers = 2048,
     .hint = "interface '{}' must exist, with that many queues, the process needs CAP_NET_RAW, "
             "CAP_NET_ADMIN and CAP_SYS_ADMIN"},
    {.driver = "net_memif",
     .words = {"net_memif"},
     .keys = kMemifKeys,
     .claims = Claiming::socket_and_id,
     .room = {.key = "bsize", .fallback = 2048},
     .demand = {"zero-copy", "no",
                "zero-copy would map this process's memory into the peer; leave it out"},
     .memif = true,
     .shares_memory = true,
     .hint =
         "the directory of socket '{}' must exist and be writable, and no other port or process "
         "may serve that socket"},
    {.driver = "net_null", .words = {"net_null", "eth_null"}, .keys = kNullKeys},
    {.driver = "net_pcap",
     .words = {"net_pcap", "eth_pcap"},
     .keys = kPcapKeys,
     .binding = Binding::opens,
     .claims = Claiming::interface},
    {.driver = "net_ring", .words = {"net_ring", "eth_ring"}, .keys = kRingKeys},
    {.driver = "net_tap",
     .words = {"net_tap", "eth_tap"},
     .keys = kTapKeys,
     .binding = Binding::creates,
     .claims = Claiming::interface,
     .most_mtu = 1500,  // the driver takes no other, and silently drops longer frames
     .most_mtu_why = "a tap carries no jumbo frames",
     .hint = "the process needs CAP_NET_ADMIN"},
    {.driver = "net_vhost",
     .words = {"net_vhost", "eth_vhost"},
     .keys = kVhostKeys,
     .claims = Claiming::socket,
     .vhost = true,
     .shares_memory = true,
     .hint = "the directory of socket '{}' must exist and be writable, and nothing else may be at "
             "that path"},
    {.driver = "net_virtio_user",
     .words = {"net_virtio_user", "virtio_user"},
     .keys = kVirtioUserKeys,
     .demand = {"server", "0",
                "server=1 waits for its peer before any other port is opened, and cannot be ended; "
                "let the peer serve the socket, or serve it with net_vhost0,iface=PATH"}},
});

constexpr PortKind kUnknown = {.driver = "unknown"};

// [domain:]bus:device.function
bool looks_like_pci(std::string_view device) {
  return device.find(':') != std::string_view::npos && device.find('.') != std::string_view::npos;
}

std::string hinted(const std::string& word, const std::vector<std::string>& known) {
  const std::string* const hint = nearest(word, known);
  return hint == nullptr ? "" : "; did you mean '" + *hint + "'?";
}

}  // namespace

std::span<const PortKind> port_kinds() {
  return kKinds;
}

const PortKind& kind_of_device(std::string_view device) {
  for (const PortKind& kind : kKinds)
    for (const Word word : kind.words)
      if (!word.empty() && device.starts_with(word)) return kind;
  return looks_like_pci(device) ? kKinds.front() : kUnknown;
}

std::string wrong_key(const Devargs& device) {
  const auto keys = device.kind->keys;
  if (keys.empty()) return {};
  for (const auto& [key, value] : device.arguments) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::vector<std::string> known(keys.begin(), keys.end());
    std::string text = device.driver + " has no argument '" + key + "'" + hinted(key, known);
    text += "; allowed: ";
    for (std::size_t i = 0; i < known.size(); ++i) text += (i > 0 ? ", " : "") + known[i];
    return text;
  }
  return {};
}

std::string unknown_driver(const Devargs& device) {
  if (device.kind != &kUnknown) return {};
  std::vector<std::string> known;
  for (const PortKind& kind : kKinds)
    if (!kind.driver.empty()) known.emplace_back(kind.driver);
  return "the driver '" + device.driver + "' is not one that the switch knows" +
         hinted(device.driver, known);
}

}  // namespace tributary::config
