#include "config/schema/schema_acl.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "config/model/port_vlan.h"

namespace tributary::config {
namespace {

using enum Presence;

template <typename T>
struct Word {
  const char* name;
  T value;
};
constexpr std::array kEtherTypes = {
    Word<std::uint16_t>{"ipv4", 0x0800}, Word<std::uint16_t>{"arp", 0x0806},
    Word<std::uint16_t>{"ipv6", 0x86DD}, Word<std::uint16_t>{"lldp", 0x88CC}};
constexpr std::array kProtocols = {Word<std::uint8_t>{"icmp", 1}, Word<std::uint8_t>{"igmp", 2},
                                   Word<std::uint8_t>{"tcp", 6}, Word<std::uint8_t>{"udp", 17},
                                   Word<std::uint8_t>{"icmpv6", 58}};

template <typename Words, typename T>
const char* name_in(const Words& words, T value) {
  for (const auto& word : words)
    if (word.value == value) return word.name;
  return nullptr;
}
template <typename T, typename Words>
std::optional<T> value_in(const Words& words, std::string_view name) {
  for (const auto& word : words)
    if (word.name == name) return word.value;
  return std::nullopt;
}

// Parses an address of either kind, and the number of bits.
std::optional<IpPrefix> parse_prefix(const std::string& text) {
  IpPrefix prefix;
  const std::size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  if (address.find('\0') != std::string::npos) return std::nullopt;
  prefix.is_ipv6 = address.find(':') != std::string::npos;
  if (inet_pton(prefix.is_ipv6 ? AF_INET6 : AF_INET, address.c_str(), prefix.address.data()) != 1)
    return std::nullopt;
  const int most = prefix.is_ipv6 ? 128 : 32;
  if (slash == std::string::npos) {
    prefix.bits = static_cast<std::uint8_t>(most);
    return prefix;
  }
  const auto bits = parse_integer(std::string_view(text).substr(slash + 1));
  if (!bits || *bits < 0 || *bits > most) return std::nullopt;
  prefix.bits = static_cast<std::uint8_t>(*bits);
  return prefix;
}

bool has_host_bits(const IpPrefix& prefix) {
  for (std::size_t bit = prefix.bits; bit < (prefix.is_ipv6 ? 128u : 32u); ++bit)
    if ((prefix.address[bit / 8] >> (7 - bit % 8) & 1) != 0) return true;
  return false;
}

std::string prefix_text(const IpPrefix& prefix) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(prefix.is_ipv6 ? AF_INET6 : AF_INET, prefix.address.data(), text.data(), text.size());
  return std::string(text.data()) + '/' + std::to_string(prefix.bits);
}

}  // namespace

Codec<IpPrefix> ip_prefix() {
  return {"IP prefix", "an IPv4 or IPv6 address, or a prefix such as 10.0.0.0/8 or 2001:db8::/32",
          [](const Node& node, IpPrefix& out) -> std::optional<std::string> {
            const auto prefix = parse_prefix(node.text);
            if (!prefix) return "is not an address or prefix";
            if (has_host_bits(*prefix)) return "has bits beyond its prefix";
            out = *prefix;
            return std::nullopt;
          },
          [](const IpPrefix& prefix) { return std::optional('"' + prefix_text(prefix) + '"'); }};
}

namespace {

std::string ether_type_text(std::uint16_t type) {
  if (const char* name = name_in(kEtherTypes, type)) return name;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 12; shift >= 0; shift -= 4) text += kHex[type >> shift & 15];
  return text;
}

Codec<std::uint16_t> ether_type() {
  return {"Ethernet type", "ipv4, arp, ipv6, lldp, or four hexadecimal digits such as 0x88b5",
          [](const Node& node, std::uint16_t& out) -> std::optional<std::string> {
            if (const auto known = value_in<std::uint16_t>(kEtherTypes, node.text)) {
              out = *known;
              return std::nullopt;
            }
            const char* const end = node.text.data() + node.text.size();
            if (node.text.size() != 6 || !node.text.starts_with("0x")) return "is unknown";
            const auto [at, error] = std::from_chars(node.text.data() + 2, end, out, 16);
            if (error != std::errc() || at != end) return "is unknown";
            return std::nullopt;
          },
          [](const std::uint16_t& type) { return std::optional(ether_type_text(type)); }};
}

std::string protocol_text(std::uint8_t protocol) {
  const char* name = name_in(kProtocols, protocol);
  return name != nullptr ? name : std::to_string(protocol);
}

Codec<std::uint8_t> protocol() {
  return {"IP protocol", "tcp, udp, icmp, igmp, icmpv6, or 0 to 255",
          [](const Node& node, std::uint8_t& out) -> std::optional<std::string> {
            if (const auto known = value_in<std::uint8_t>(kProtocols, node.text)) {
              out = *known;
              return std::nullopt;
            }
            std::int64_t value = 0;
            auto problem = check_integer(node, 0, 255, value);
            if (problem) return parse_integer(node.text) ? problem : "is unknown";
            out = static_cast<std::uint8_t>(value);
            return std::nullopt;
          },
          [](const std::uint8_t& value) { return std::optional(protocol_text(value)); }};
}

const Fields<AclRule>& rule_fields() {
  static const Fields<AclRule> fields = {
      scalar("name", &AclRule::name, identifier(),
             "Name of the rule in `show acl` and the metrics; unique. Left out: `rule-` and its "
             "place in the list, from 0."),
      choice<AclRule, AclAction>("action", &AclRule::action,
                                 {{"allow", AclAction::allow}, {"deny", AclAction::deny}},
                                 "Verdict on frames that match."),
      scalar("port", &AclRule::port, identifier(),
             "Name of the port through which they come in. Left out: any."),
      scalar("vlan", &AclRule::vlan, or_absent(number_range("VLANs", 0, kMaxVlan)),
             "The VLANs that they are in; 0: untagged between transparent ports."),
      scalar("ether_type", &AclRule::ether_type, or_absent(ether_type()),
             "Their EtherType, behind all VLAN tags."),
      scalar("source", &AclRule::source, or_absent(ip_prefix()), "Their source address."),
      scalar("destination", &AclRule::destination, or_absent(ip_prefix()),
             "Their destination address."),
      scalar("protocol", &AclRule::protocol, or_absent(protocol()),
             "Protocol in IPv4 or IPv6, behind IPv6's extension headers."),
      scalar("source_ports", &AclRule::source_ports,
             or_absent(number_range("port numbers", 1, 65535)),
             "Their source port; of TCP or UDP only. Of a datagram in fragments, only the first "
             "one has ports."),
      scalar("destination_ports", &AclRule::destination_ports,
             or_absent(number_range("port numbers", 1, 65535)),
             "Their destination port, likewise."),
      scalar("watch", &AclRule::watch, integer<std::uint32_t>(0, kMostWatchEvery),
             "In-band telemetry reports one frame in so many of those that go on to other ports, "
             "and leaves it as it is; all switches choose the same. 0: none."),
  };
  return fields;
}

}  // namespace

const Fields<AclConfig>& acl_fields() {
  static const Fields<AclConfig> fields = {
      choice<AclConfig, AclAction>("default", &AclConfig::otherwise,
                                   {{"allow", AclAction::allow}, {"deny", AclAction::deny}},
                                   "Verdict on frames that no rule matches."),
      list("rules", &AclConfig::rules, rule_fields(), 0, kMaxAclRules,
           "In this order; the first that matches a frame decides. What a rule leaves out matches "
           "all."),
  };
  return fields;
}

std::string match_text(const AclRule& rule) {
  std::string text;
  for (const auto& field : rule_fields()) {
    if (field.name == "name" || field.name == "action" || field.name == "watch") continue;
    std::string line = field.write(rule, 0);
    if (line.empty()) continue;
    line.pop_back();
    line.erase(std::remove(line.begin(), line.end(), '"'), line.end());
    text.append(text.empty() ? "" : ", ").append(line);
  }
  return text;
}

}  // namespace tributary::config
