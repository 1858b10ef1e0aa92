#include "config/model/devargs.h"

#include <charconv>

namespace tributary::config {
namespace {

// The name of an unknown driver: all but the number at the end.
std::string_view driver_of(const PortKind& kind, std::string_view device) {
  if (kind.card || !kind.words.front().empty()) return kind.driver;
  return device.substr(0, device.find_last_not_of("0123456789") + 1);
}

}  // namespace

std::optional<std::string_view> Devargs::get(std::string_view key) const {
  for (const auto& [name, value] : arguments)
    if (name == key) return value;
  return std::nullopt;
}

std::string_view Devargs::interface() const {
  if (kind->binding == Binding::none) return {};
  // All but the first are net_pcap's; the one that it receives from counts.
  for (const char* const key : {"iface", "rx_iface_in", "rx_iface", "tx_iface"})
    if (const auto name = get(key)) return *name;
  return {};
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
  out.kind = &kind_of_device(out.device);
  out.driver = driver_of(*out.kind, out.device);
  return out;
}

}  // namespace tributary::config
