// The amounts that each switch of the tree has for jobs, and those that its admitted jobs use.
//
// Invariant: the amount in use of a switch is the sum of the needs of its admitted jobs.
#pragma once

#include <map>
#include <string>

#include "config/topology/topology.h"
#include "manager/admission/amount.h"

namespace tributary::manager {

class SwitchAmounts {
 public:
  using ByName = std::map<std::string, Amount>;

  // The tree as it is now. What is in use stays, and so do caps and refusals.
  void set_switches(const config::Topology& topology);
  // Room of a switch as the switch itself says it: less than its figures promised. Ends its
  // refusal.
  void cap(const std::string& node, const Amount& capacity);
  // The switch has no more than what is in use there, until forgive().
  void refuse(const std::string& node) { refused_[node] = used_at(node); }
  // False: it had refused nothing.
  bool forgive(const std::string& node) { return refused_.erase(node) > 0; }

  void take(const ByName& needs);
  void give_back(const ByName& needs);

  // `despite_refusal`: with what it has, were it not for a refusal.
  [[nodiscard]] Amount capacity_at(const std::string& node, bool despite_refusal = false) const;
  [[nodiscard]] Amount total_capacity() const;
  [[nodiscard]] Amount used_at(const std::string& node) const;
  [[nodiscard]] const ByName& used() const { return used_; }

 private:
  ByName capacity_;
  ByName caps_;
  ByName refused_;
  ByName used_;
};

}  // namespace tributary::manager
