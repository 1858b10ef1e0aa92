// A packet loop that falls silent when a test wants, stopped from within.
#pragma once

#include <functional>
#include <future>
#include <stdexcept>
#include <utility>
#include <vector>

#include "dataplane/loop/packet_loop.h"

namespace tributary::control {

// Stops the loop when a condition holds, and leaves no room for requests.
class StoppedLoop {
 public:
  StoppedLoop(dataplane::PacketLoop& packet_loop, std::function<bool()> when)
      : packet_loop_(packet_loop), when_(std::move(when)) {
    look();
  }
  ~StoppedLoop() { go_on(); }
  StoppedLoop(const StoppedLoop&) = delete;
  StoppedLoop& operator=(const StoppedLoop&) = delete;

  void wait() { stopped_.get_future().wait(); }
  // All that waited is done when it returns.
  void go_on() {
    if (gone_on_) return;
    gone_on_ = true;
    go_.set_value();
    over_.get_future().wait();
    for (auto& done : waiting_) done.wait();
  }

 private:
  // Behind whatever else the loop is asked for, again and again.
  void look() {
    packet_loop_.mailbox().post([this](Instant) {
      if (!when_()) return look();
      try {
        for (;;) waiting_.push_back(packet_loop_.mailbox().post([](Instant) {}));
      } catch (const std::runtime_error&) {
        stopped_.set_value();
      }
      go_.get_future().wait();
      over_.set_value();
    });
  }

  dataplane::PacketLoop& packet_loop_;
  std::function<bool()> when_;
  std::vector<std::future<void>> waiting_;
  std::promise<void> stopped_;
  std::promise<void> go_;
  std::promise<void> over_;
  bool gone_on_ = false;
};

}  // namespace tributary::control
