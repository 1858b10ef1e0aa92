#include "manager/admission/switch_amounts.h"

#include <algorithm>

namespace tributary::manager {
namespace {

Amount least_of(const Amount& a, const Amount& b) {
  return {.slots = std::min(a.slots, b.slots),
          .bytes = std::min(a.bytes, b.bytes),
          .completion_bytes = std::min(a.completion_bytes, b.completion_bytes),
          .jobs = std::min(a.jobs, b.jobs),
          .hosted_bytes = std::min(a.hosted_bytes, b.hosted_bytes)};
}

}  // namespace

void SwitchAmounts::set_switches(const config::Topology& topology) {
  capacity_.clear();
  for (const auto& sw : topology.switches) capacity_[sw.config.name] = capacity_of(sw.config);
}

void SwitchAmounts::cap(const std::string& node, const Amount& capacity) {
  caps_[node] = capacity;
  refused_.erase(node);
}

void SwitchAmounts::take(const ByName& needs) {
  for (const auto& [node, need] : needs) used_[node] += need;
}

void SwitchAmounts::give_back(const ByName& needs) {
  for (const auto& [node, need] : needs) used_[node] -= need;
}

Amount SwitchAmounts::capacity_at(const std::string& node, bool despite_refusal) const {
  const auto at = capacity_.find(node);
  Amount amount = at == capacity_.end() ? Amount{} : at->second;
  if (const auto cap = caps_.find(node); cap != caps_.end()) amount = least_of(amount, cap->second);
  if (const auto cap = refused_.find(node); !despite_refusal && cap != refused_.end())
    amount = least_of(amount, cap->second);
  return amount;
}

Amount SwitchAmounts::total_capacity() const {
  Amount total;
  for (const auto& [node, capacity] : capacity_) total += capacity_at(node);
  return total;
}

Amount SwitchAmounts::used_at(const std::string& node) const {
  const auto at = used_.find(node);
  return at == used_.end() ? Amount{} : at->second;
}

}  // namespace tributary::manager
