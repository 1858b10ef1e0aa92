#include "config/model/devargs.h"

#include <array>
#include <charconv>

namespace tributary::config {
namespace {

bool looks_like_pci(std::string_view device) {
  // [domain:]bus:device.function
  return device.find(':') != std::string_view::npos && device.find('.') != std::string_view::npos;
}

// What virtual devices' names begin with says to DPDK which driver they are for; some drivers have
// two words.
struct VirtualDriver {
  std::string_view word, name;
};
constexpr std::array kVirtualDrivers = {
    VirtualDriver{"net_af_packet", "net_af_packet"},
    VirtualDriver{"eth_af_packet", "net_af_packet"},
    VirtualDriver{"net_af_xdp", "net_af_xdp"},
    VirtualDriver{"net_memif", "net_memif"},
    VirtualDriver{"net_null", "net_null"},
    VirtualDriver{"eth_null", "net_null"},
    VirtualDriver{"net_pcap", "net_pcap"},
    VirtualDriver{"eth_pcap", "net_pcap"},
    VirtualDriver{"net_ring", "net_ring"},
    VirtualDriver{"eth_ring", "net_ring"},
    VirtualDriver{"net_tap", "net_tap"},
    VirtualDriver{"eth_tap", "net_tap"},
    VirtualDriver{"net_vhost", "net_vhost"},
    VirtualDriver{"eth_vhost", "net_vhost"},
    VirtualDriver{"net_virtio_user", "net_virtio_user"},
    VirtualDriver{"virtio_user", "net_virtio_user"},
};

// None: a PCI address. One that we do not know: all but the number at its end.
std::string_view driver_of(std::string_view device) {
  for (const auto& [word, name] : kVirtualDrivers)
    if (device.starts_with(word)) return name;
  if (looks_like_pci(device)) return {};
  return device.substr(0, device.find_last_not_of("0123456789") + 1);
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
  out.driver = driver_of(out.device);
  return out;
}

}  // namespace tributary::config
