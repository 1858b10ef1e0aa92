// The parts of a port's DPDK device argument string, "net_memif0,id=3,socket=/run/a". Only parses
// strings; no device is accessed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/model/port_kind.h"

namespace tributary::config {

struct Devargs {
  std::string device;  // net_memif0 or 0000:01:00.0
  std::string driver;  // net_memif; empty for a PCI address
  const PortKind* kind = &kind_of_device({});
  std::vector<std::pair<std::string, std::string>> arguments;

  [[nodiscard]] bool pci() const { return kind->card; }
  // The kernel interface that it opens or creates; empty if there is none.
  [[nodiscard]] std::string_view interface() const;
  [[nodiscard]] std::optional<std::string_view> get(std::string_view key) const;
  // Decimal value of `key`, or `fallback` when absent or not a number.
  [[nodiscard]] std::size_t number(std::string_view key, std::size_t fallback) const;
};
Devargs parse_devargs(std::string_view text);

}  // namespace tributary::config
