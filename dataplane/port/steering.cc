#include "dataplane/port/steering.h"

#include <rte_ethdev.h>
#include <rte_flow.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace tributary::dataplane {
namespace {

std::string reason(const char* what, const rte_flow_error& error, int code) {
  std::string text = std::string(what) + ": ";
  return text + (error.message != nullptr ? error.message : std::strerror(std::abs(code)));
}

// Which one of how many was too much.
std::string place_of(std::size_t rule, const config::SteeringPlan& plan) {
  return " (rule " + std::to_string(rule + 1) + " of " + std::to_string(plan.wishes.size()) + ")";
}

// To keep the numbers apart is all that a hash of them can do, so there have to be some.
bool tells_queues_apart(const config::SteeringPlan& plan) {
  return std::any_of(plan.wishes.begin(), plan.wishes.end(), [&](const config::SteeringWish& w) {
    return w.queue != plan.wishes.front().queue;
  });
}

}  // namespace

const char* name_of(Steering::How how) {
  switch (how) {
    case Steering::How::none: return "-";
    case Steering::How::flow: return "flow";
    case Steering::How::rss_udp_port: return "rss of UDP ports";
    case Steering::How::rss: return "rss";
    case Steering::How::hand_over: return "hand-over";
  }
  return "?";
}

void Steering::begin(std::uint16_t ethdev, std::uint64_t hash, std::uint64_t offered) {
  ethdev_ = ethdev;
  hash_ = hash;
  offers_udp_ports_ = hash != 0 && (offered & RTE_ETH_RSS_L4_DST_ONLY) != 0;
  hashes_udp_ports_ = false;
  begun_ = true;
  how_ = hash != 0 ? How::rss : How::hand_over;
}

void Steering::apply(const config::SteeringPlan& plan) {
  if (!begun_ || plan == plan_) return;
  note_.clear();
  remove_rules();
  plan_ = plan;
  const bool made = !plan.wishes.empty() && make_rules(plan);
  hash_udp_ports(!made && tells_queues_apart(plan));
  how_ = made                ? How::flow
         : hashes_udp_ports_ ? How::rss_udp_port
         : hash_ != 0        ? How::rss
                             : How::hand_over;
}

void Steering::end() {
  remove_rules();
  plan_ = {};
  begun_ = false;
  how_ = How::none;
}

void Steering::say(const std::string& what) {
  if (note_.find(what) != std::string::npos) return;
  note_.append(note_.empty() ? "" : "; ").append(what);
}

bool Steering::make_rules(const config::SteeringPlan& plan) {
  for (std::size_t i = 0; i < plan.wishes.size(); ++i) {
    const std::string refused = make_rule(plan.ipv4, plan.wishes[i]);
    if (refused.empty()) continue;
    say(refused + place_of(i, plan));
    remove_rules();
    return false;
  }
  return true;
}

std::string Steering::make_rule(std::uint32_t ipv4, const config::SteeringWish& wish) {
  rte_flow_attr ingress{};
  ingress.ingress = 1;
  rte_flow_item_ipv4 to{};
  rte_flow_item_ipv4 to_mask{};
  to.hdr.dst_addr = rte_cpu_to_be_32(ipv4);
  to_mask.hdr.dst_addr = 0xFFFFFFFF;
  rte_flow_item_udp port{};
  rte_flow_item_udp port_mask{};
  port.hdr.dst_port = rte_cpu_to_be_16(wish.udp_port);
  port_mask.hdr.dst_port = 0xFFFF;
  const std::array<rte_flow_item, 4> pattern = {
      rte_flow_item{RTE_FLOW_ITEM_TYPE_ETH, nullptr, nullptr, nullptr},
      rte_flow_item{RTE_FLOW_ITEM_TYPE_IPV4, &to, nullptr, &to_mask},
      rte_flow_item{RTE_FLOW_ITEM_TYPE_UDP, &port, nullptr, &port_mask},
      rte_flow_item{RTE_FLOW_ITEM_TYPE_END, nullptr, nullptr, nullptr}};
  const rte_flow_action_queue queue{wish.queue};
  const std::array<rte_flow_action, 2> actions = {
      rte_flow_action{RTE_FLOW_ACTION_TYPE_QUEUE, &queue},
      rte_flow_action{RTE_FLOW_ACTION_TYPE_END, nullptr}};
  rte_flow_error error{};
  if (const int bad = rte_flow_validate(ethdev_, &ingress, pattern.data(), actions.data(), &error);
      bad != 0)
    return reason("rte_flow refused", error, bad);
  rte_flow* const rule = rte_flow_create(ethdev_, &ingress, pattern.data(), actions.data(), &error);
  if (rule == nullptr) return reason("rte_flow failed", error, rte_errno);
  rules_.push_back(rule);
  return {};
}

// No other process has rules on the device, so if one rule cannot be removed alone, all may be.
// Rules that stay all the same are remembered, and removed the next time.
void Steering::remove_rules() {
  rte_flow_error error{};
  std::erase_if(rules_,
                [&](rte_flow* rule) { return rte_flow_destroy(ethdev_, rule, &error) == 0; });
  if (rules_.empty()) return;
  error = {};
  if (const int bad = rte_flow_flush(ethdev_, &error); bad != 0)
    return say(reason("rte_flow keeps old rules", error, bad));
  rules_.clear();
}

void Steering::hash_udp_ports(bool alone) {
  if (alone == hashes_udp_ports_ || !offers_udp_ports_) return;
  rte_eth_rss_conf conf{};
  conf.rss_hf = alone ? hash_ | RTE_ETH_RSS_L4_DST_ONLY : hash_;
  const int bad = rte_eth_dev_rss_hash_update(ethdev_, &conf);
  if (bad == 0)
    hashes_udp_ports_ = alone;
  else
    say(reason(alone ? "hash of UDP ports refused" : "other hash refused", {}, bad));
}

}  // namespace tributary::dataplane
