// An etcd of one process for tests: keys and leases as etcd has them, and faults when a test asks
// for them. Its time is the test's.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "manager/etcd/connection.h"

namespace tributary::manager {

// What several members share: they are one etcd.
struct EtcdState {
  std::mutex mutex;
  std::int64_t revision = 1;
  std::map<std::string, etcdserverpb::KeyValue> keys;
  std::map<std::int64_t, std::int64_t> leases;  // id -> seconds
  std::int64_t next_lease = 1;
  std::size_t renewals = 0;
  bool full = false;
  std::vector<std::int64_t> page_revisions;  // that questions with a limit named; 0: the newest
  std::size_t most_writes = 0;  // of the largest transaction so far, comparisons included

  void end_lease(std::int64_t id);
};

class FakeEtcd {
 public:
  explicit FakeEtcd(std::shared_ptr<EtcdState> state = std::make_shared<EtcdState>());
  ~FakeEtcd();

  [[nodiscard]] std::string endpoint() const;
  [[nodiscard]] EtcdState& state() { return *state_; }
  // What it does with the next calls.
  enum class Fault : std::uint8_t {
    none,
    away,        // answers none
    mute_once,   // carries the next transaction out, and does not answer it
    short_lease  // gives the next lease two seconds, and its full time when it is renewed
  };
  void set(Fault fault);

 private:
  class Keys;
  class Leases;
  std::shared_ptr<EtcdState> state_;
  std::unique_ptr<Keys> keys_;
  std::unique_ptr<Leases> leases_;
  std::atomic<Fault> fault_{Fault::none};
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace tributary::manager
