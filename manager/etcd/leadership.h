// Which of several managers on one etcd leads: the one whose lease holds the key "leader".
//
//   try_lead() ─▶ no such key: put it, bound to a lease ─▶ Leadership: renews the lease
//             └─▶ there is one: its value names the leader
//
// The term is the revision at which the key came to be: etcd's revisions only grow, so each
// leader's is higher than all before. A leader that is killed is followed when its lease has run
// out; one that ends in order gives the lease up. One that still believes that it leads is told by
// its own clock once it cannot renew, and etcd refuses its commits (etcd_store.h) in any case.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "manager/etcd/connection.h"

namespace tributary::manager {

// The key "leader" holds it, as JSON.
struct Leader {
  std::string name;
  std::string address;  // where it listens
};

class Leadership {
 public:
  using Clock = std::chrono::steady_clock;

  // `until`: when the lease runs out that `grant` is of. Renews it on a thread of its own.
  Leadership(EtcdConnection& etcd, const EtcdConnection::Grant& grant, std::uint64_t term,
             Clock::time_point until);
  // Gives the lease up.
  ~Leadership();
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  [[nodiscard]] std::uint64_t term() const { return term_; }
  // Another manager may lead by now: the lease has run out, or the key is another's.
  [[nodiscard]] bool is_over() const;
  // Throws StoreError: `fenced` when it is over, `gone` while the lease cannot be renewed.
  void check() const;

 private:
  void run();
  void renew();
  [[nodiscard]] bool holds_key();

  EtcdConnection& etcd_;
  const std::int64_t lease_;
  const std::chrono::milliseconds time_;
  const std::uint64_t term_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Clock::time_point until_;
  std::string trouble_;  // of the last renewal; empty: none
  bool lost_ = false;
  bool stopping_ = false;
  std::thread thread_;  // last: begins when all else is there
};

struct Election {
  std::unique_ptr<Leadership> won;
  Leader leader;  // the one that leads, where it is another
};

// One try. `lease`: whole seconds; etcd may make it longer. Throws StoreError.
Election try_lead(EtcdConnection& etcd, const Leader& own, std::chrono::seconds lease);

std::string leader_key(const EtcdConnection& etcd);

}  // namespace tributary::manager
