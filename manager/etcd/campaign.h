// Tries to lead, again and again on a thread of its own, until it does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "manager/etcd/leadership.h"

namespace tributary::manager {

class Campaign {
 public:
  explicit Campaign(EtcdConnection& etcd) : etcd_(etcd) {}
  ~Campaign();
  Campaign(const Campaign&) = delete;
  Campaign& operator=(const Campaign&) = delete;

  // Once.
  void start(Leader own, std::chrono::seconds lease);
  [[nodiscard]] bool is_won() const;
  // Once is_won().
  std::unique_ptr<Leadership> take();

  struct State {
    bool follows = false;  // there is a leader
    std::string text;      // who leads, or what etcd answers
  };
  [[nodiscard]] State state() const;
  [[nodiscard]] std::uint64_t turns() const { return turns_; }

 private:
  void run(const Leader& own, std::chrono::seconds lease);
  void try_once(const Leader& own, std::chrono::seconds lease);

  EtcdConnection& etcd_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  State state_{false, "no manager leads yet"};
  std::unique_ptr<Leadership> won_;
  bool stopping_ = false;
  std::atomic<std::uint64_t> turns_{0};
  std::thread thread_;
};

}  // namespace tributary::manager
