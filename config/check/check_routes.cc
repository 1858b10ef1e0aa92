#include "config/check/check_routes.h"

#include <optional>

#include "config/check/check_port.h"
#include "config/text/codec.h"

namespace tributary::config {
namespace {

std::string route_path(std::size_t i) {
  return item_path("switch.routes", i);
}

// False if some route was not read: then further errors would be guesses.
bool routes_usable(const SwitchConfig& config, const ReadContext& context) {
  if (!context.usable("switch.routes")) return false;
  for (std::size_t i = 0; i < config.routes.size(); ++i)
    for (const char* key : {".to", ".via", ".port"})
      if (!context.usable(route_path(i) + key)) return false;
  return true;
}

std::string text_of(const RouteConfig& route) {
  return format_ipv4(route.to.address) + '/' + std::to_string(route.to.bits);
}

// The first earlier route for which `same` holds.
template <typename Same>
std::optional<std::size_t> earlier(const SwitchConfig& config, std::size_t i, Same same) {
  for (std::size_t j = 0; j < i; ++j)
    if (same(config.routes[j], config.routes[i])) return j;
  return std::nullopt;
}

void check_prefix(const SwitchConfig& config, std::size_t i, ReadContext& context) {
  const RouteConfig& route = config.routes[i];
  const auto same = [](const RouteConfig& a, const RouteConfig& b) { return a.to == b.to; };
  if (const auto other = earlier(config, i, same))
    context.report(route_path(i) + ".to", text_of(route) + " is already led to by " +
                                              route_path(*other) + "; allowed: each prefix once");
  constexpr std::uint32_t kFirstGroup = 0xE0000000;
  if (route.to.address >= kFirstGroup)
    context.report(route_path(i) + ".to",
                   text_of(route) + " is no host's; allowed: prefixes below 224.0.0.0");
}

// A frame to the router leaves without a tag, and so its answer must come without one.
void check_untagged(const SwitchConfig& config, std::size_t i, ReadContext& context) {
  for (std::size_t p = 0; p < config.ports.size(); ++p) {
    const PortConfig& port = config.ports[p];
    const std::string vlan = item_path("ports", p) + ".vlan";
    if (port.name != config.routes[i].port || !context.usable(vlan)) continue;
    if (port.vlan.mode == VlanMode::trunk && !port.vlan.native)
      context.report(vlan + ".native", "is missing; " + route_path(i) +
                                           " leads through the port, and frames to its router "
                                           "have no tag; allowed: the VLAN that takes them");
  }
}

void check_router(const SwitchConfig& config, std::size_t i, ReadContext& context) {
  const RouteConfig& route = config.routes[i];
  const std::string path = route_path(i);
  if (!route.via) {
    if (!route.port.empty())
      context.report(path + ".port",
                     "is where a router is; allowed: together with `via`, or neither, for what is "
                     "on the link");
    return;
  }
  if (route.port.empty())
    return context.report(path + ".port", "is missing; a router is behind one port");
  check_port_exists(config, context, path + ".port", route.port);
  check_untagged(config, i, context);
  if (context.usable("switch.address") && *route.via == config.ipv4)
    context.report(path + ".via", "is the switch's own address; allowed: a router's");
  if (const RouteConfig* const behind = route_through_router(config.routes, *route.via))
    context.report(path + ".via", format_ipv4(*route.via) + " is itself behind a router, by the " +
                                      "route to " + text_of(*behind) +
                                      "; allowed: an address on the link, which a longer prefix " +
                                      "without `via` makes it");
  const auto elsewhere = [](const RouteConfig& a, const RouteConfig& b) {
    return a.via == b.via && a.port != b.port;
  };
  if (const auto other = earlier(config, i, elsewhere))
    context.report(path + ".port", format_ipv4(*route.via) + " is behind port " +
                                       quoted(config.routes[*other].port) + " by " +
                                       route_path(*other) + "; allowed: one port for each router");
}

// A peer behind `port` cannot be behind a router on another port.
void check_way(const SwitchConfig& config, ReadContext& context, const std::string& who,
               std::uint32_t ipv4, const std::string& port) {
  const RouteConfig* const route = route_through_router(config.routes, ipv4);
  if (route == nullptr || port.empty() || route->port == port) return;
  const auto i = static_cast<std::size_t>(route - config.routes.data());
  context.report(route_path(i) + ".port", who + ", " + format_ipv4(ipv4) + ", is in " +
                                              text_of(*route) + " and behind port " + quoted(port) +
                                              "; allowed: that port, or a longer " +
                                              "prefix that leads there");
}

void check_ways(const SwitchConfig& config, ReadContext& context) {
  for (const JobConfig& job : config.jobs) {
    const std::string of_job = " of job " + std::to_string(job.id);
    if (job.parent)
      check_way(config, context, "the parent" + of_job, job.parent->ipv4, job.parent->uplink);
    if (job.parent && job.hosting)
      check_way(config, context, "the root" + of_job, job.hosting->root_ipv4, job.parent->uplink);
    for (const ChildConfig& child : job.children)
      if (child.is_switch)
        check_way(config, context, "switch " + std::to_string(child.id) + of_job, child.ipv4,
                  child.port);
  }
  for (const CompletionHost& host : config.completion.hosts)
    check_way(config, context, "completion host " + host.name, host.ipv4, host.port);
}

}  // namespace

void check_routes(const SwitchConfig& config, ReadContext& context) {
  if (config.routes.empty() || !routes_usable(config, context)) return;
  const std::size_t mistakes = context.errors().size();
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    check_prefix(config, i, context);
    check_router(config, i, context);
  }
  if (context.errors().size() == mistakes) check_ways(config, context);
}

}  // namespace tributary::config
