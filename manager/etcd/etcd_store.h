// A store in etcd, for several managers, of which one leads.
//
// Each commit is one transaction, and it compares the key "leader", too: what a manager commits
// that no longer leads is refused by etcd itself. A commit that a member did not answer is tried at
// the next one, and taken once. Any thread.
#pragma once

#include "manager/etcd/leadership.h"
#include "manager/store/store.h"

namespace tributary::manager {

class EtcdStore : public Store {
 public:
  EtcdStore(EtcdConnection& etcd, const Leadership& leadership)
      : etcd_(etcd), leadership_(leadership) {}

  [[nodiscard]] std::uint64_t term() const override { return leadership_.term(); }
  [[nodiscard]] std::optional<Entry> get(std::string_view key) override;
  [[nodiscard]] std::vector<Entry> list(std::string_view prefix) override;
  // Asks no member: as of the last renewal of the lease.
  void check() override { leadership_.check(); }

 private:
  std::vector<std::uint64_t> commit(std::span<const Write> writes) override;
  [[nodiscard]] etcdserverpb::TxnRequest request_of(std::span<const Write> writes) const;
  [[nodiscard]] std::vector<std::uint64_t> done_before(
      std::span<const Write> writes, const etcdserverpb::TxnResponse& response) const;
  [[nodiscard]] std::string key_of(std::string_view key) const;

  EtcdConnection& etcd_;
  const Leadership& leadership_;
};

}  // namespace tributary::manager
