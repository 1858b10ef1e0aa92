#include "dataplane/bridge/acl.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

#include "dataplane/bridge/acl_table.h"

namespace tributary::dataplane {

Acl::Acl(const config::SwitchConfig& config, const VlanTable& vlans)
    : vlans_(vlans),
      idle_(config.acl.rules.empty() && config.acl.otherwise == config::AclAction::allow),
      hits_(std::make_unique<std::vector<Counter>>(config.acl.rules.size() + 1)),
      shown_hits_(hits_.get()) {
  for (const auto& rule : config.acl.rules) {
    rules_.push_back({rule.action, rule.watch});
    watches_ = watches_ || rule.watch != 0;
  }
  rules_.push_back({config.acl.otherwise, 0});
  try {
    for (const AclKind kind : {AclKind::ipv4, AclKind::ipv6, AclKind::other})
      batches_[static_cast<std::size_t>(kind)].table = build_acl_table(config, kind);
  } catch (...) {
    for (Batch& batch : batches_) free_acl_table(batch.table);
    throw;
  }
}

Acl::~Acl() {
  for (Batch& batch : batches_) free_acl_table(batch.table);
}

void Acl::swap(Acl& other) noexcept {
  std::swap(idle_, other.idle_);
  std::swap(watches_, other.watches_);
  rules_.swap(other.rules_);
  hits_.swap(other.hits_);
  shown_hits_.store(hits_.get(), std::memory_order_release);
  other.shown_hits_.store(other.hits_.get(), std::memory_order_release);
  for (std::size_t i = 0; i < kKinds; ++i) std::swap(batches_[i].table, other.batches_[i].table);
}

void Acl::classify(std::uint16_t port, std::span<rte_mbuf* const> burst) {
  for (Batch& batch : batches_) batch.count = 0;
  for (std::size_t i = 0; i < burst.size(); ++i) read(port, burst[i], i);
  for (Batch& batch : batches_)
    if (batch.count != 0) decide(batch);
}

void Acl::read(std::uint16_t port, const rte_mbuf* frame, std::size_t i) {
  verdicts_[i] = DropReason::none;
  watch_[i] = 0;
  std::array<std::byte, kAclHeaderBytes> gathered;
  std::span<const std::byte> headers(rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len);
  if (frame->nb_segs > 1) {
    const auto bytes = std::min<std::uint32_t>(frame->pkt_len, gathered.size());
    const void* at = rte_pktmbuf_read(frame, 0, bytes, gathered.data());
    headers = {static_cast<const std::byte*>(at), bytes};
  }
  const auto parsed = wire::parse_ethernet(headers);
  const auto* view = std::get_if<wire::EthernetView>(&parsed);
  if (view == nullptr) return;  // dropped as such, under its own reason
  const AclFields fields = read_acl_key(*view, frame->pkt_len - headers.size(), keys_[i]);
  if (fields.malformed != DropReason::none) {
    verdicts_[i] = fields.malformed;
    return;
  }
  keys_[i].ingress = port;
  const std::uint16_t vlan = vlans_.vlan_of(port, *view);
  keys_[i].vlan = vlan == kNoVlan ? std::uint16_t{0} : vlan;
  Batch& batch = batches_[static_cast<std::size_t>(fields.kind)];
  batch.keys[batch.count] = reinterpret_cast<const std::uint8_t*>(&keys_[i]);
  batch.frames[batch.count++] = static_cast<std::uint8_t>(i);
}

void Acl::decide(Batch& batch) {
  std::vector<Counter>& hits = *hits_;
  std::array<std::uint32_t, kBurst> rules{};  // 1 and up; 0: none matches
  if (batch.table != nullptr)
    search_acl_table(batch.table, std::span(batch.keys).first(batch.count), rules);
  for (std::uint32_t n = 0; n < batch.count; ++n) {
    const std::size_t rule = rules[n] != 0 ? rules[n] - 1 : hits.size() - 1;
    hits[rule].add();
    const std::uint8_t place = batch.frames[n];
    watch_[place] = rules_[rule].watch;
    if (rules_[rule].action == config::AclAction::deny) verdicts_[place] = DropReason::acl_denied;
  }
}

}  // namespace tributary::dataplane
