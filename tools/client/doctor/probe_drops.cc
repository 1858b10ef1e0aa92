#include "tools/client/doctor/probe_drops.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "tools/client/doctor/rows.h"

namespace tributary::client {
namespace {

struct Cause {
  std::string_view reason;
  std::string_view remedy;
};
// Reasons for which a switch drops a path probe, or the ARP request before it.
constexpr std::array kCauses = {
    Cause{"acl-denied",
          "add a rule before it that allows UDP from this host to the switch "
          "(acl.rules), then tributary reload"},
    Cause{"vlan-denied",
          "tributary show vlans: give the port this host's VLAN (ports[].vlan), or "
          "this host's interface the port's"},
    Cause{"vlan-stacked", "let this host send one VLAN tag, or none"},
    Cause{"checksum", "on this host: ethtool -K IFACE tx off"},
    Cause{"checksum-offloaded", "on this host: ethtool -K IFACE tx off"},
    Cause{"mtu-exceeded",
          "raise ports[].mtu and the MTU of the port's interface, or: ethtool -K "
          "IFACE gro off there"},
    Cause{"frame-fragment", "set switch.fragments, or an MTU that the job's packets fit"},
    Cause{"wrong-ingress-port", "compare the switch's routes with the way that this host takes"},
    Cause{"no-next-hop", "tributary show neighbours: the switch's router does not answer ARP"},
    Cause{"own-address", "this host has the switch's address: give it another one"},
    Cause{"spoofed-mac",
          "this host has a MAC address that forwarding.static_macs gives to another "
          "port"},
    Cause{"bpdu-guard", "the port heard spanning tree's messages: is a bridge behind it?"},
};

double packets_of(const Json& rows, const Json& like, std::string_view key_a,
                  std::string_view key_b, const char* count) {
  for (const Json& row : rows)
    if (text_of(row, key_a) == text_of(like, key_a) && text_of(row, key_b) == text_of(like, key_b))
      return number_of(row, count);
  return 0;
}

// "by rule NAME (MATCH)", of those that denied more than before.
std::string deciding_rules(const DropsLook& before, const DropsLook& after) {
  std::string rules;
  for (const Json& row : after.acl) {
    if (text_of(row, "action") != "deny") continue;
    if (number_of(row, "frames") <= packets_of(before.acl, row, "rule", "action", "frames"))
      continue;
    rules += (rules.empty() ? ", by rule " : ", ") + text_of(row, "rule");
    if (const std::string match = text_of(row, "match"); !match.empty())
      rules += " (" + match + ")";
  }
  return rules;
}

}  // namespace

Findings judge_probe_drops(const DropsLook& before, const DropsLook& after) {
  Findings found;
  for (const Json& row : after.drops) {
    const std::string reason = text_of(row, "reason");
    const auto cause = std::find_if(kCauses.begin(), kCauses.end(),
                                    [&](const Cause& c) { return c.reason == reason; });
    const double more =
        number_of(row, "packets") - packets_of(before.drops, row, "port", "reason", "packets");
    if (cause == kCauses.end() || more <= 0) continue;
    std::string state = "dropped " + std::to_string(static_cast<std::uint64_t>(more)) +
                        " packet(s) while this host asked, as " + reason;
    if (const std::string meaning = text_of(row, "meaning"); !meaning.empty())
      state += ": " + meaning;
    if (reason == "acl-denied") state += deciding_rules(before, after);
    found.push_back(
        {Finding::Level::error, "port " + text_of(row, "port"), state, std::string(cause->remedy)});
  }
  return found;
}

}  // namespace tributary::client
