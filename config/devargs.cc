#include "config/devargs.h"

#include <cctype>
#include <charconv>

namespace tributary::config {
namespace {

bool looks_like_pci(std::string_view device) {
  // [domain:]bus:device.function
  return device.find(':') != std::string_view::npos && device.find('.') != std::string_view::npos;
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

}  // namespace tributary::config
