// The stream between one local switch and the manager, on a thread of its own, as long as both are
// there: it begins anew whenever one of them comes back.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "manager/api/client.h"
#include "tools/agentd/terms.h"

namespace tributary::agentd {

class Link {
 public:
  // `socket`: of the switch; `folder`: for documents.
  Link(const manager::Target& target, std::string socket, std::string folder, Terms& terms);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] std::uint64_t turns() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace tributary::agentd
