// Access control: which frames may pass the switch. The first rule that matches decides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/text/number_range.h"

namespace tributary::config {

inline constexpr std::size_t kMaxAclRules = 1024;
inline constexpr std::uint32_t kMostWatchEvery = 1u << 24;

enum class AclAction : std::uint8_t { allow, deny };

// An address and how many of its bits count. An IPv4 address is in the first four bytes.
struct IpPrefix {
  bool is_ipv6 = false;
  std::array<std::uint8_t, 16> address{};
  std::uint8_t bits = 0;

  bool operator==(const IpPrefix&) const = default;
};

// A condition that is left out matches everything.
struct AclRule {
  std::string name = {};
  AclAction action = AclAction::deny;
  std::string port = {};  // the ingress port
  std::optional<NumberRange> vlan = {};
  std::optional<std::uint16_t> ether_type = {};
  std::optional<IpPrefix> source = {};
  std::optional<IpPrefix> destination = {};
  std::optional<std::uint8_t> protocol = {};
  std::optional<NumberRange> source_ports = {};
  std::optional<NumberRange> destination_ports = {};
  std::uint32_t watch = 0;  // telemetry reports one frame in so many that go on; 0: none
};

struct AclConfig {
  AclAction otherwise = AclAction::allow;  // for frames that no rule matches
  std::vector<AclRule> rules;
};

}  // namespace tributary::config
