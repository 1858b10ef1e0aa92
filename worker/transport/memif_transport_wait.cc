// How the memif transport sleeps, and how it reconnects when its switch comes back.
//
// It never spins: on cores that the ranks share with the switch, every microsecond that a rank
// polls is taken from the processes that it waits for.
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "worker/transport/memif_transport.h"

namespace tributary::worker {
namespace {

constexpr Duration kReconnectAnswerLimit = Duration::ms(200);
// A burst that crossed with the request for interrupts is found after this time.
constexpr Duration kSecondLook = Duration::us(200);
// Room to send is not signalled.
constexpr Duration kRoomInterval = Duration::us(50);

timespec to_timespec(Duration d) {
  const std::int64_t ns = std::clamp<std::int64_t>(d.to_ns(), 0, 3'600'000'000'000);
  return {ns / 1'000'000'000, ns % 1'000'000'000};
}

void drain(int event_fd) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto n = ::read(event_fd, &count, sizeof count);
}

}  // namespace

std::int64_t MemifTransport::now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool MemifTransport::ready() const {
  return rings_->rx_pending() || woken_.load(std::memory_order_relaxed) ||
         (send_blocked_ && rings_->tx_room() > 0);
}

void MemifTransport::wait(Duration limit) {
  if (!link_up()) {
    wait_for_link(limit);
  } else if (!ready()) {
    sleep_until_ready(limit);
  }
  if (woken_.exchange(false)) drain(wake_event_.get());
}

void MemifTransport::sleep_until_ready(Duration limit) {
  rings_->rx_interrupts(true);
  if (!ready()) {
    const std::int64_t deadline = now_ns() + std::min(limit, Duration::seconds(3600)).to_ns();
    bool happened = poll(std::min(limit, kSecondLook));
    while (!happened && link_up() && !ready()) {
      const Duration left = Duration::ns(deadline - now_ns());
      if (left.to_ns() <= 0) break;
      happened = poll(send_blocked_ ? std::min(left, kRoomInterval) : left);
    }
  }
  if (link_up()) rings_->rx_interrupts(false);
}

bool MemifTransport::poll(Duration limit) {
  std::array<pollfd, 3> fds = {pollfd{rings_->event_fd(false), POLLIN, 0},
                               pollfd{wake_event_.get(), POLLIN, 0},
                               pollfd{control_->fd(), POLLIN, 0}};
  const timespec t = to_timespec(limit);
  if (::ppoll(fds.data(), fds.size(), &t, nullptr) <= 0) return false;
  if (fds[0].revents != 0) drain(fds[0].fd);
  if (fds[1].revents != 0) drain(fds[1].fd);
  if (fds[2].revents != 0 && control_->server_left()) disconnect();
  return true;
}

void MemifTransport::wait_for_link(Duration limit) {
  const Duration until_next = Duration::ns(std::max<std::int64_t>(next_connect_ns_ - now_ns(), 0));
  pollfd wake{wake_event_.get(), POLLIN, 0};
  const timespec t = to_timespec(std::min(limit, until_next));
  if (::ppoll(&wake, 1, &t, nullptr) > 0) {
    drain(wake.fd);
    return;
  }
  if (now_ns() < next_connect_ns_) return;
  try {
    connect(kReconnectAnswerLimit);
  } catch (const std::runtime_error&) {  // still down: the ops' own timeouts inform the user
    next_connect_ns_ = now_ns() + kReconnectInterval.to_ns();
  }
}

void MemifTransport::wake() {
  woken_.store(true);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(wake_event_.get(), &one, sizeof one);
}

}  // namespace tributary::worker
