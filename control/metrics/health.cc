#include "control/metrics/health.h"

#include <stdexcept>
#include <string>

#include "control/text/show_text.h"

namespace tributary::control {
namespace {

std::string silent_loops(dataplane::Switch& sw) {
  std::string text;
  std::size_t lcore = 0;
  for (const auto& packet_loop : sw.packet_loops()) {
    try {
      on_loop(*packet_loop, [](dataplane::PacketLoop&, Instant) { return true; });
    } catch (const std::runtime_error&) {
      text += "packet loop of lcore " + std::to_string(lcore) + " does not answer\n";
    }
    ++lcore;
  }
  return text;
}

std::string missing_devices(dataplane::Switch& sw) {
  std::string text;
  sw.for_each_port([&](std::size_t, const dataplane::Port& port) {
    if (!port.is_device()) text += "port " + port.name() + " has no device\n";
  });
  return text;
}

}  // namespace

HttpServer::Pages probe_pages(dataplane::Switch& sw) {
  return probe_pages(
      [&sw] {
        const auto held = sw.hold();
        return silent_loops(sw);
      },
      [&sw] {
        const auto held = sw.hold();
        return silent_loops(sw) + missing_devices(sw);
      });
}

}  // namespace tributary::control
