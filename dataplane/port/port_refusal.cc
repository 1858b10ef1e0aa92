#include "dataplane/port/port_refusal.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "dataplane/memif/memif_settings.h"

namespace tributary::dataplane {
namespace {

// The usual cause when a device of this kind cannot be created.
std::string hint_for(const Devargs& args) {
  std::string text(args.kind->hint);
  if (text.empty()) return "check the driver's name and arguments";
  const std::string named =
      args.kind->memif ? memif_socket(args) : std::string(args.get("iface").value_or(""));
  if (const auto at = text.find("{}"); at != std::string::npos) text.replace(at, 2, named);
  return text;
}

}  // namespace

void refuse_port(const config::PortConfig& port, const std::string& what) {
  throw std::runtime_error("port " + port.name + " (" + port.devargs + "): " + what);
}

void refuse_port(const config::PortConfig& port, const Devargs& device, const std::string& what,
                 int error) {
  refuse_port(port, what + ": " + std::strerror(std::abs(error)) + "; " + hint_for(device));
}

}  // namespace tributary::dataplane
