#include "worker/transport/staged_transport.h"

#include <chrono>

namespace tributary::worker {
namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

std::uint64_t StagedTransport::enter() {
  const std::uint64_t now = now_ns();
  if (left_at_ != 0) counters_->session_ns.add(now - left_at_);
  return now;
}

std::uint64_t StagedTransport::leave() {
  return left_at_ = now_ns();
}

std::size_t StagedTransport::send(std::span<const Datagram> batch) {
  const std::uint64_t begin = enter();
  const std::size_t sent = inner_->send(batch);
  counters_->send_ns.add(leave() - begin);
  counters_->sends.add();
  counters_->datagrams.add(sent);
  return sent;
}

std::size_t StagedTransport::receive(const Receiver& receiver) {
  const std::uint64_t begin = enter();
  std::uint64_t unpack = 0;
  const std::size_t received = inner_->receive([&](const wire::Packet& packet) {
    const std::uint64_t start = now_ns();
    receiver(packet);
    unpack += now_ns() - start;
  });
  counters_->receive_ns.add(leave() - begin - unpack);
  counters_->unpack_ns.add(unpack);
  counters_->receives.add();
  counters_->packets.add(received);
  return received;
}

void StagedTransport::wait(Duration limit) {
  const std::uint64_t begin = enter();
  inner_->wait(limit);
  counters_->wait_ns.add(leave() - begin);
  counters_->waits.add();
}

}  // namespace tributary::worker
