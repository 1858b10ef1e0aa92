// Calls to an etcd of one or several members. A call that one member does not answer goes to the
// next, each once; what no member answers is a StoreError. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "manager/etcd/address.h"
#include "manager/etcd/etcd.grpc.pb.h"
#include "manager/store/store.h"

namespace tributary::manager {

// Paths of PEM files; all empty: without TLS.
struct EtcdTls {
  std::string ca;
  std::string certificate;  // own; empty: none is shown
  std::string key;
};

class EtcdConnection {
 public:
  static constexpr std::chrono::milliseconds kAnswer{2000};

  // `answer`: how long a member may take. Throws std::invalid_argument for TLS files that make no
  // sense and std::runtime_error for those that cannot be read; connects at the first call.
  EtcdConnection(const EtcdAddress& address, const EtcdTls& tls,
                 std::chrono::milliseconds answer = kAnswer);

  // Each throws StoreError, `full` where etcd has no room, `gone` otherwise.
  etcdserverpb::RangeResponse range(const etcdserverpb::RangeRequest& request);
  struct Answer {
    etcdserverpb::TxnResponse response;
    bool asked_before = false;  // a member that did not answer may have done it before
  };
  Answer txn(const etcdserverpb::TxnRequest& request);
  // An id, and for how long it holds. etcd may give more time than was asked for.
  struct Grant {
    std::int64_t id = 0;
    std::chrono::seconds time{0};
  };
  Grant grant(std::chrono::seconds time);
  // The time that the lease has again; 0: it is no more.
  std::chrono::seconds keep_alive(std::int64_t lease);
  void revoke(std::int64_t lease);

  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  // "etcd:A:2379,B:2379"
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct Member {
    std::string endpoint;
    std::unique_ptr<etcdserverpb::KV::Stub> keys;
    std::unique_ptr<etcdserverpb::Lease::Stub> leases;
  };
  // `call(member, context)` gives a grpc::Status. Returns how many were asked before the one that
  // has answered.
  template <typename Call>
  std::size_t ask(Call call);

  std::string prefix_;
  std::string name_;
  std::chrono::milliseconds answer_;
  std::vector<Member> members_;
  std::atomic<std::size_t> next_{0};  // the member that answered last
};

}  // namespace tributary::manager
