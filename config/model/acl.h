// Access control: who may send what through the switch. The first rule that matches decides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/text/number_range.h"

namespace tributary::config {

inline constexpr std::size_t kMaxAclRules = 1024;

enum class AclAction : std::uint8_t { allow, deny };

// An address and how many of its bits count. IPv4 stands in the first four bytes.
struct IpPrefix {
  bool is_ipv6 = false;
  std::array<std::uint8_t, 16> address{};
  std::uint8_t bits = 0;
};

// What is left out matches everything.
struct AclRule {
  std::string name = {};
  AclAction action = AclAction::deny;
  std::string port = {};  // where the frame comes in
  std::optional<NumberRange> vlan = {};
  std::optional<std::uint16_t> ether_type = {};
  std::optional<IpPrefix> source = {};
  std::optional<IpPrefix> destination = {};
  std::optional<std::uint8_t> protocol = {};
  std::optional<NumberRange> source_ports = {};
  std::optional<NumberRange> destination_ports = {};
};

struct AclConfig {
  AclAction otherwise = AclAction::allow;  // of what no rule matches
  std::vector<AclRule> rules;
};

}  // namespace tributary::config
