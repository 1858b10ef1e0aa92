// How the communicators of a memif connection sleep, and who reconnects when the switch comes back.
//
// None spins: on cores that the ranks share with the switch, every microsecond that a rank polls is
// taken from the processes that it waits for. None wakes up for another's frames either, but the
// watcher: the connection's event is in that member's epoll set alone.
//
//   watcher ──has read nothing of its own, while the other got frames──▶ the other
//           ──is awake, and hasn't slept since the other's last wait()──▶ the other
//           ──leaves, or the connection ends──▶ the next that waits
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "worker/memif/memif_link.h"

namespace tributary::worker {
namespace {

constexpr Duration kReconnectAnswerLimit = Duration::ms(200);
// While another member's thread reconnects.
constexpr Duration kOtherConnects = Duration::ms(20);
// A burst that crossed with the request for interrupts is found after this time.
constexpr Duration kSecondLook = Duration::us(200);
// Room to send is not signalled.
constexpr Duration kRoomInterval = Duration::us(50);
// After which one that does not watch looks whether the watcher still lives.
constexpr Duration kFollowerLook = Duration::seconds(1);

timespec to_timespec(Duration d) {
  const std::int64_t ns = std::clamp<std::int64_t>(d.to_ns(), 0, 3'600'000'000'000);
  return {ns / 1'000'000'000, ns % 1'000'000'000};
}

void drain(int event_fd) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto n = ::read(event_fd, &count, sizeof count);
}

// epoll_wait() for less than a millisecond. Kernels before 5.11, and some containers, have no
// epoll_pwait2().
int await(int epoll, std::span<epoll_event> events, Duration limit) {
  const timespec t = to_timespec(limit);
  const int room = static_cast<int>(events.size());
#ifdef SYS_epoll_pwait2
  const long n = ::syscall(SYS_epoll_pwait2, epoll, events.data(), room, &t, nullptr, 0);
  if (n >= 0 || errno == EINTR) return static_cast<int>(n);
#endif
  pollfd readable{epoll, POLLIN, 0};
  return ::ppoll(&readable, 1, &t, nullptr) <= 0 ? 0 : ::epoll_wait(epoll, events.data(), room, 0);
}

}  // namespace

std::int64_t MemifLink::now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void MemifLink::wait(MemifMember& self, Duration limit, bool blocked) {
  if (!up()) {
    wait_for_link(self, limit);
  } else {
    watch(self);
    if (!ready(self, blocked)) sleep_until_ready(self, limit, blocked);
  }
  if (self.woken.exchange(false)) drain(self.wake_event.get());
}

// Returns whether `self` watches from now on.
bool MemifLink::watch(MemifMember& self) {
  const std::lock_guard lock(watch_);
  if (rings_ == nullptr) return false;
  if (watcher_ != &self && (watcher_ == nullptr || may_take_over(self))) begin_watch(self);
  self.seen_frames = self.frames.load(std::memory_order_relaxed);
  if (watcher_ == &self) return true;
  self.seen_watchers_frames = watcher_->frames.load(std::memory_order_relaxed);
  self.seen_watchers_turns = watcher_turns_;
  return false;
}

bool MemifLink::may_take_over(const MemifMember& self) const {
  if (!watcher_asleep_) return self.seen_watchers_turns == watcher_turns_;
  return self.frames.load(std::memory_order_relaxed) != self.seen_frames &&
         watcher_->frames.load(std::memory_order_relaxed) == self.seen_watchers_frames;
}

void MemifLink::begin_watch(MemifMember& self) {
  const bool on = watcher_asleep_;
  end_watch();
  for (const int fd : {rings_->event_fd(false), control_->fd()}) {
    epoll_event readable{EPOLLIN, {.fd = fd}};
    ::epoll_ctl(self.epoll.get(), EPOLL_CTL_ADD, fd, &readable);
  }
  watcher_ = &self;
  if (on) rings_->rx_interrupts(false);
}

// The peer has the event, too: to close it here would leave it in the set.
void MemifLink::end_watch() {
  if (watcher_ != nullptr)
    for (const int fd : {rings_->event_fd(false), control_->fd()})
      ::epoll_ctl(watcher_->epoll.get(), EPOLL_CTL_DEL, fd, nullptr);
  watcher_ = nullptr;
  watcher_asleep_ = false;
  ++watcher_turns_;
}

bool MemifLink::ready(const MemifMember& self, bool blocked) {
  if (!self.inbox.empty() || self.woken.load(std::memory_order_relaxed)) return true;
  if (blocked) {
    const Writing writing = write();
    if (writing.rings == nullptr || writing.rings->tx_room() > 0) return true;
  }
  const std::lock_guard lock(watch_);
  return rings_ == nullptr || (watcher_ == &self && rings_->rx_pending());
}

// Does nothing if another one watches by now.
void MemifLink::turn_interrupts(const MemifMember& self, bool on) {
  const std::lock_guard lock(watch_);
  if (watcher_ != &self) return;
  rings_->rx_interrupts(on);
  watcher_asleep_ = on;
  ++watcher_turns_;
}

bool MemifLink::is_watched_by(const MemifMember& self) {
  const std::lock_guard lock(watch_);
  return watcher_ == &self;
}

void MemifLink::sleep_until_ready(MemifMember& self, Duration limit, bool blocked) {
  const std::int64_t deadline = now_ns() + std::min(limit, Duration::seconds(3600)).to_ns();
  self.asleep.store(true);
  turn_interrupts(self, true);
  bool happened = ready(self, blocked);
  for (Duration look = kSecondLook; !happened; happened = happened || ready(self, blocked)) {
    const Duration left = Duration::ns(deadline - now_ns());
    if (left.to_ns() <= 0 || !up()) break;
    const bool follows = !is_watched_by(self);
    if (follows) look = kFollowerLook;
    if (blocked) look = std::min(look, kRoomInterval);
    happened = poll(self, std::min(left, look));
    if (!happened && look == kFollowerLook && watch(self)) turn_interrupts(self, true);
    look = Duration::seconds(3600);
  }
  turn_interrupts(self, false);
  self.asleep.store(false);
}

bool MemifLink::poll(MemifMember& self, Duration limit) {
  std::array<epoll_event, 3> events;
  const int n = await(self.epoll.get(), events, limit);
  for (int i = 0; i < n; ++i) {
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    if (fd == self.wake_event.get())
      drain(fd);
    else
      look_at(self, fd);
  }
  return n > 0;
}

// Handles an event. Another member may watch by now, who then handles it.
void MemifLink::look_at(const MemifMember& self, int descriptor) {
  bool server = false;
  {
    const std::lock_guard lock(watch_);
    if (watcher_ != &self) return;
    server = descriptor == control_->fd();
    if (!server) drain(descriptor);
  }
  if (!server) return;
  const std::lock_guard reading(rx_);
  if (control_ == nullptr) return;
  if (control_->server_left()) return disconnect();
  take_offers();
}

void MemifLink::wait_for_link(MemifMember& self, Duration limit) {
  const auto sleep = [&](Duration most) {
    pollfd wake{self.wake_event.get(), POLLIN, 0};
    const timespec t = to_timespec(std::min(limit, most));
    if (::ppoll(&wake, 1, &t, nullptr) <= 0) return false;
    drain(wake.fd);
    return true;
  };
  if (sleep(Duration::ns(next_connect_ns_ - now_ns())) || now_ns() < next_connect_ns_) return;
  const std::unique_lock one(connecting_, std::try_to_lock);
  if (!one) {
    sleep(kOtherConnects);
    return;
  }
  try {
    open(kReconnectAnswerLimit);
  } catch (const std::runtime_error&) {  // still down: the ops' own timeouts inform the user
    next_connect_ns_ = now_ns() + kReconnectInterval.to_ns();
  }
}

}  // namespace tributary::worker
