#include "dataplane/bridge/acl_table.h"

#include <rte_acl.h>
#include <rte_errno.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::dataplane {
namespace {

using config::AclRule;
using config::NumberRange;

constexpr std::uint16_t kEtherTypeIpv6 = 0x86DD;
constexpr NumberRange kAny = {0, 0xFFFF};

// One field of a key and what a rule wants of it.
struct Want {
  rte_acl_field_def where;
  rte_acl_field what;
};

// Four consecutive bytes of the key share an input; the first byte has one of its own.
constexpr std::uint8_t input_of(std::size_t offset) {
  return static_cast<std::uint8_t>(offset / 4);
}

// The fields of one rule, in the order of the key; the definitions are the same for all rules.
class Wants {
 public:
  void byte(std::size_t offset, std::optional<std::uint8_t> value) {
    Want want = at(RTE_ACL_FIELD_TYPE_BITMASK, 1, offset);
    want.what.value.u8 = value.value_or(0);
    want.what.mask_range.u8 = value ? 0xFF : 0;
    wants_.push_back(want);
  }
  void range(std::size_t offset, const NumberRange& numbers) {
    Want want = at(RTE_ACL_FIELD_TYPE_RANGE, 2, offset);
    want.what.value.u16 = numbers.first;
    want.what.mask_range.u16 = numbers.last;
    wants_.push_back(want);
  }
  void prefix(std::size_t offset, const std::optional<config::IpPrefix>& prefix,
              std::size_t words) {
    for (std::size_t w = 0; w < words; ++w) {
      Want want = at(RTE_ACL_FIELD_TYPE_MASK, 4, offset + 4 * w);
      wire::be32 word;
      if (prefix) std::memcpy(&word, &prefix->address[4 * w], sizeof word);
      const std::size_t bits = prefix ? prefix->bits : 0;
      want.what.value.u32 = word;
      want.what.mask_range.u32 =
          static_cast<std::uint32_t>(bits <= 32 * w ? 0 : std::min<std::size_t>(bits - 32 * w, 32));
      wants_.push_back(want);
    }
  }
  [[nodiscard]] const std::vector<Want>& get() const { return wants_; }

 private:
  [[nodiscard]] Want at(std::uint8_t type, std::uint8_t bytes, std::size_t offset) const {
    Want want{};
    want.where = {type, bytes, static_cast<std::uint8_t>(wants_.size()), input_of(offset),
                  static_cast<std::uint32_t>(offset)};
    return want;
  }
  std::vector<Want> wants_;
};

NumberRange ports_named(const config::SwitchConfig& config, const std::string& name) {
  if (name.empty()) return kAny;
  std::uint16_t index = 0;
  while (index < config.ports.size() && config.ports[index].name != name) ++index;
  return {index, index};
}

bool needs_ip(const AclRule& rule) {
  return rule.source || rule.destination || rule.protocol || rule.source_ports ||
         rule.destination_ports;
}

bool can_match(const AclRule& rule, AclKind kind) {
  if (kind == AclKind::other) {
    const bool ip = rule.ether_type == wire::kEtherTypeIpv4 || rule.ether_type == kEtherTypeIpv6;
    return !ip && !needs_ip(rule);
  }
  const bool v6 = kind == AclKind::ipv6;
  if (rule.ether_type && *rule.ether_type != (v6 ? kEtherTypeIpv6 : wire::kEtherTypeIpv4))
    return false;
  return (!rule.source || rule.source->is_ipv6 == v6) &&
         (!rule.destination || rule.destination->is_ipv6 == v6);
}

Wants wants_of(const config::SwitchConfig& config, const AclRule& rule, AclKind kind) {
  Wants wants;
  wants.byte(offsetof(AclKey, protocol), rule.protocol);
  wants.range(offsetof(AclKey, ingress), ports_named(config, rule.port));
  wants.range(offsetof(AclKey, vlan), rule.vlan.value_or(kAny));
  if (kind == AclKind::other) {
    const std::uint16_t type = rule.ether_type.value_or(0);
    wants.range(offsetof(AclKey, ether_type), rule.ether_type ? NumberRange{type, type} : kAny);
    wants.range(offsetof(AclKey, unused_too), kAny);
    return wants;
  }
  const std::size_t words = kind == AclKind::ipv6 ? 4 : 1;
  wants.range(offsetof(AclKey, source_port), rule.source_ports.value_or(kAny));
  wants.range(offsetof(AclKey, destination_port), rule.destination_ports.value_or(kAny));
  wants.prefix(offsetof(AclKey, source), rule.source, words);
  wants.prefix(offsetof(AclKey, destination), rule.destination, words);
  return wants;
}

// Rules in rte_acl's layout: the data of each, then its fields.
class Encoded {
 public:
  explicit Encoded(std::size_t fields) : bytes_(RTE_ACL_RULE_SZ(fields)) {}
  void add(const Wants& wants, std::size_t place, std::size_t rules) {
    const std::size_t at = all_.size();
    all_.resize(at + bytes_);
    rte_acl_rule_data data{};
    data.category_mask = 1;
    data.priority = static_cast<std::int32_t>(rules - place);
    data.userdata = static_cast<std::uint32_t>(place + 1);
    std::memcpy(&all_[at], &data, sizeof data);
    for (std::size_t f = 0; f < wants.get().size(); ++f)
      std::memcpy(&all_[at + RTE_ACL_RULE_SZ(f)], &wants.get()[f].what, sizeof(rte_acl_field));
    ++count_;
  }
  [[nodiscard]] const rte_acl_rule* get() const {
    return reinterpret_cast<const rte_acl_rule*>(all_.data());
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint32_t bytes() const { return static_cast<std::uint32_t>(bytes_); }

 private:
  std::size_t bytes_;
  std::vector<char> all_;
  std::uint32_t count_ = 0;
};

[[noreturn]] void fail(const char* what, int error) {
  throw std::runtime_error(std::string("acl.rules: ") + what + ": " + rte_strerror(error) +
                           "; raise memory.megabytes, or write fewer rules");
}

}  // namespace

rte_acl_ctx* build_acl_table(const config::SwitchConfig& config, AclKind kind) {
  const auto& rules = config.acl.rules;
  const Wants any = wants_of(config, {}, kind);
  Encoded encoded(any.get().size());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!can_match(rules[i], kind)) continue;
    encoded.add(wants_of(config, rules[i], kind), i, rules.size());
  }
  if (encoded.count() == 0) return nullptr;

  rte_acl_config layout{};
  layout.num_categories = 1;
  layout.num_fields = static_cast<std::uint32_t>(any.get().size());
  for (std::size_t f = 0; f < any.get().size(); ++f) layout.defs[f] = any.get()[f].where;
  // Names are unique in the process, and instances of a switch are many in one.
  rte_acl_ctx* table = nullptr;
  std::string name;
  for (unsigned n = 0; table == nullptr; ++n) {
    name = "acl" + std::to_string(n);
    if (rte_acl_find_existing(name.c_str()) != nullptr) continue;
    const rte_acl_param parameters{name.c_str(), SOCKET_ID_ANY, encoded.bytes(), encoded.count()};
    table = rte_acl_create(&parameters);
    if (table == nullptr) fail("no table", rte_errno);
  }
  int error = rte_acl_add_rules(table, encoded.get(), encoded.count());
  if (error == 0) error = rte_acl_build(table, &layout);
  if (error == 0) return table;
  rte_acl_free(table);
  fail("the table cannot be built", -error);
}

void free_acl_table(rte_acl_ctx* table) {
  rte_acl_free(table);
}

void search_acl_table(const rte_acl_ctx* table, std::span<const std::uint8_t*> keys,
                      std::span<std::uint32_t> rules) {
  rte_acl_classify(table, keys.data(), rules.data(), static_cast<std::uint32_t>(keys.size()), 1);
}

}  // namespace tributary::dataplane
