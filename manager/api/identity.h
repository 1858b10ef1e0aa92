// The caller's identity, from a certificate's names:
//
//   URI of the subject's alternative names      tributary://tenant/vision
//                                               tributary://node/A          one for each switch
//                                               tributary://operator/alice
//   common name, where there is no such URI     tenant:vision, node:A, operator:alice
//
// The unix socket of the manager's machine has file permissions instead: a process that may open it
// is an operator, and may speak for every switch.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace tributary::manager {

class Identity {
 public:
  // Anonymous: has no permissions.
  Identity() = default;
  static Identity local();
  static Identity of_certificate(const std::vector<std::string>& alternative_names,
                                 const std::string& common_name);

  [[nodiscard]] bool is_operator() const { return operator_; }
  [[nodiscard]] bool is_anonymous() const {
    return !operator_ && tenants_.empty() && nodes_.empty();
  }
  // May submit, see and cancel jobs of that tenant.
  [[nodiscard]] bool may_act_for(const std::string& tenant) const {
    return operator_ || tenants_.contains(tenant);
  }
  [[nodiscard]] bool may_speak_for(const std::string& node) const {
    return local_ || nodes_.contains(node);
  }
  // "tenant vision, node A": for messages.
  [[nodiscard]] std::string text() const;

 private:
  void add(const std::string& kind, const std::string& name);

  bool local_ = false;
  bool operator_ = false;
  std::string operator_name_;
  std::set<std::string> tenants_;
  std::set<std::string> nodes_;
};

}  // namespace tributary::manager
