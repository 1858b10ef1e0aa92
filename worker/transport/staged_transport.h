// A transport around another that takes the time of its calls: where a progress thread's time goes.
//
//   thread:  │ session │ send │ session │ receive: calls, unpack, unpack... │ session │ wait │
//
// The time between two calls is the session's, so the stages add up to the thread's time. Two
// readings of the clock a call and a packet, paid by those who ask for it.
#pragma once

#include <memory>

#include "core/counter.h"
#include "worker/transport/transport.h"

namespace tributary::worker {

// Written by the progress thread, read by any.
struct StageCounters {
  Counter session_ns, send_ns, receive_ns, unpack_ns, wait_ns;
  Counter sends, datagrams, receives, packets, waits;
};

class StagedTransport final : public Transport {
 public:
  StagedTransport(std::unique_ptr<Transport> inner, std::shared_ptr<StageCounters> counters)
      : inner_(std::move(inner)), counters_(std::move(counters)) {}

  void on_start(const wire::StartInfo& info) override { inner_->on_start(info); }
  void on_host(std::uint16_t udp_port) override { inner_->on_host(udp_port); }
  std::size_t send(std::span<const Datagram> batch) override;
  std::size_t receive(const Receiver& receiver) override;
  void wait(Duration limit) override;
  void wake() override { inner_->wake(); }
  [[nodiscard]] std::size_t max_datagram_bytes() const override {
    return inner_->max_datagram_bytes();
  }
  [[nodiscard]] std::size_t max_cut_bytes() const override { return inner_->max_cut_bytes(); }
  [[nodiscard]] std::string silence_hint() const override { return inner_->silence_hint(); }
  [[nodiscard]] std::string failure() const override { return inner_->failure(); }
  [[nodiscard]] const DropCounters& drops() const override { return inner_->drops(); }
  [[nodiscard]] std::string describe() const override { return inner_->describe(); }

 private:
  // Since the last call's end the session worked.
  std::uint64_t enter();
  std::uint64_t leave();

  const std::unique_ptr<Transport> inner_;
  const std::shared_ptr<StageCounters> counters_;
  std::uint64_t left_at_ = 0;  // 0: no call has ended yet
};

}  // namespace tributary::worker
