#include "dataplane/switch/device_check.h"

#include <stdexcept>
#include <string>

#include "config/plan/device_claims.h"
#include "dataplane/frame/devargs.h"
#include "dataplane/port/kernel_interface.h"

namespace tributary::dataplane {
namespace {

// For a port that has its device: why that device cannot be as the file wants it. Empty: no reason
// is known.
std::string is_lacking(const config::PortConfig& port, const Port& has) {
  if (!has.is_device() || has.config().devargs != port.devargs) return "";
  return has.lacks(port);
}

}  // namespace

void DeviceCheck::check(const config::PortConfig& port, std::optional<std::size_t> again) const {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument("the running switch cannot take this configuration:\nport " +
                                port.name + " (" + port.devargs + "): " + why);
  };
  const Devargs device = parse_devargs(port.devargs);
  if (device.pci() && !has_pci_)
    refuse("DPDK was started for no network card; only a restart brings the first one");
  if (const std::string wrong = check_devargs(port); !wrong.empty()) refuse(wrong);
  for (std::size_t place = 0; place < ports_.size(); ++place) {
    if (ports_[place] == nullptr) continue;
    const Port& other = *ports_[place];
    const Devargs& used = other.devargs();
    if (place == again) {
      if (const std::string wrong = is_lacking(port, other); !wrong.empty()) refuse(wrong);
      continue;
    }
    if (!other.is_device()) continue;
    if (used.device == device.device)
      refuse("port " + other.name() + " has a device of that name; give the new one another");
    if (const auto both = config::contended(device, used))
      refuse("port " + other.name() + " has " + *both + "; give the new one another");
  }
  // A port without a device goes on waiting for its interface, and so may one that need not be
  // there.
  const bool had =
      again && (!ports_[*again]->is_device() || ports_[*again]->config().devargs == port.devargs);
  if (const std::string missing = missing_interface(device);
      port.required && !had && !missing.empty())
    refuse("there is no interface '" + missing + "' here");
  if (const std::size_t bytes = data_bytes_needed(port); bytes > data_bytes_)
    refuse("needs packet buffers of " + std::to_string(bytes) + " bytes; they have " +
           std::to_string(data_bytes_) +
           " since the start, as the largest ports[].mtu and jobs[].chunk_bytes want it");
}

void DeviceCheck::check(const config::SwitchConfig& next, const config::PortChange& change) const {
  for (const std::uint16_t place : change.exchanged) check(next.ports[place]);
  for (const std::uint16_t place : change.added) check(next.ports[place]);
  for (const std::uint16_t place : change.reopened) check(next.ports[place], place);
  for (const std::uint16_t place : change.resized) check(next.ports[place], place);
}

}  // namespace tributary::dataplane
