// The words of a port's DPDK device argument string, "net_memif0,id=3,socket=/run/a": strings, and
// nothing is asked of any device.
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
  // The interface of the kernel that it opens or creates; empty: none.
  [[nodiscard]] std::string_view interface() const;
  [[nodiscard]] std::optional<std::string_view> get(std::string_view key) const;
  // Decimal value of `key`, or `fallback` when absent or not a number.
  [[nodiscard]] std::size_t number(std::string_view key, std::size_t fallback) const;
};
Devargs parse_devargs(std::string_view text);

}  // namespace tributary::config
