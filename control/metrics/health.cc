#include "control/metrics/health.h"

#include <stdexcept>
#include <string>

#include "control/text/show_text.h"

namespace tributary::control {
namespace {

constexpr const char* kText = "text/plain; charset=utf-8";

HttpPage page(const std::string& wrong) {
  if (wrong.empty()) return {200, kText, "ok\n"};
  return {503, kText, wrong};
}

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

}  // namespace

HttpPage health_page(dataplane::Switch& sw) {
  const auto held = sw.hold();
  return page(silent_loops(sw));
}

HttpPage readiness_page(dataplane::Switch& sw) {
  const auto held = sw.hold();
  std::string wrong = silent_loops(sw);
  sw.for_each_port([&](std::size_t, const dataplane::Port& port) {
    if (!port.is_device()) wrong += "port " + port.name() + " has no device\n";
  });
  return page(wrong);
}

HttpServer::Pages probe_pages(dataplane::Switch& sw) {
  return {{"/healthz", [&sw](const HttpQuery&) { return health_page(sw); }},
          {"/readyz", [&sw](const HttpQuery&) { return readiness_page(sw); }}};
}

}  // namespace tributary::control
