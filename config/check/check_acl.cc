#include "config/check/check_acl.h"

#include <map>

#include "config/check/check_port.h"
#include "config/schema/schema_acl.h"
#include "core/net/frame.h"

namespace tributary::config {
namespace {

using wire::kEtherTypeIpv4;
using wire::kEtherTypeIpv6;

bool has_ports(std::optional<std::uint8_t> protocol) {
  return protocol == 6 || protocol == 17 || protocol == 132 || protocol == 136;
}

// A rule that no frame can match is a mistake: it would only seem to protect.
void check_rule(const AclRule& rule, const std::string& path, ReadContext& context) {
  if (rule.source && rule.destination && rule.source->is_ipv6 != rule.destination->is_ipv6)
    return context.report(path + ".destination",
                          "and `source` are not both IPv4 or both IPv6; allowed: one kind");
  const bool addressed = rule.source || rule.destination;
  const bool ipv6 =
      (rule.source && rule.source->is_ipv6) || (rule.destination && rule.destination->is_ipv6);
  const bool ip = addressed || rule.protocol;
  if (ip && rule.ether_type && *rule.ether_type != kEtherTypeIpv4 &&
      *rule.ether_type != kEtherTypeIpv6)
    return context.report(path + ".ether_type",
                          "has no IP addresses or protocols; allowed: ipv4, ipv6, or none");
  if (addressed && rule.ether_type && *rule.ether_type != (ipv6 ? kEtherTypeIpv6 : kEtherTypeIpv4))
    return context.report(path + ".ether_type", std::string("is not that of the addresses; ") +
                                                    "allowed: " + (ipv6 ? "ipv6" : "ipv4"));
  if ((rule.source_ports || rule.destination_ports) && !has_ports(rule.protocol))
    context.report(path + (rule.source_ports ? ".source_ports" : ".destination_ports"),
                   "needs a protocol that has ports; allowed with protocol: tcp, udp, 132 or 136");
}

}  // namespace

void check_acl(const SwitchConfig& config, ReadContext& context) {
  if (!context.usable("acl.rules")) return;
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < config.acl.rules.size(); ++i) {
    const AclRule& rule = config.acl.rules[i];
    const std::string path = item_path("acl.rules", i);
    const auto [first, fresh] = names.emplace(name_of(rule, i), path);
    if (!fresh && context.usable(path + ".name"))
      context.report(path + ".name",
                     "name " + quoted(name_of(rule, i)) + " is already used by " + first->second);
    if (rule.watch != 0 && rule.action == AclAction::deny)
      context.report(path + ".watch", "is of frames that go on; allowed: with action: allow");
    else if (rule.watch != 0 && !config.telemetry.enabled() && context.usable("switch.telemetry"))
      context.report(path + ".watch", "needs telemetry; allowed: with switch.telemetry.node_id");
    if (!rule.port.empty()) check_port_exists(config, context, path + ".port", rule.port);
    bool usable = true;
    for (const char* key : {".source", ".destination", ".protocol", ".ether_type", ".source_ports",
                            ".destination_ports"})
      usable = usable && context.usable(path + key);
    if (usable) check_rule(rule, path, context);
  }
}

}  // namespace tributary::config
