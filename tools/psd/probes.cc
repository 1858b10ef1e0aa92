#include "tools/psd/probes.h"

#include <stdexcept>
#include <string>

#include "tools/psd/on_loop.h"

namespace tributary::psd {
namespace {

std::string silence(ServerLoop& loop) {
  try {
    on_loop(loop, [](const completion::Server&, Instant) { return true; });
    return {};
  } catch (const std::runtime_error&) {
    return "the packet loop does not answer\n";
  }
}

std::string missing_link(const dataplane::UdpPort* port) {
  if (port == nullptr || port->port().link().up()) return {};
  return "port " + port->port().name() + " has no link\n";
}

}  // namespace

control::HttpServer::Pages probe_pages(ServerLoop& loop, const dataplane::UdpPort* port) {
  return control::probe_pages([&loop] { return silence(loop); },
                              [&loop, port] { return silence(loop) + missing_link(port); });
}

}  // namespace tributary::psd
