#include "manager/listen/connection_gate.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <new>
#include <system_error>
#include <utility>

namespace tributary::manager {
namespace {

constexpr int kMostInATurn = 64;  // connections accepted of a listener
constexpr Duration kRest = Duration::ms(100);

Instant now() {
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

bool lacks_descriptors(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

bool watch(int epoll, int operation, int descriptor, std::uint32_t events) {
  epoll_event wanted{};
  wanted.events = events;
  wanted.data.fd = descriptor;
  return ::epoll_ctl(epoll, operation, descriptor, &wanted) == 0;
}

}  // namespace

ConnectionGate::ConnectionGate(std::vector<Door> doors, const GateLimits& limits)
    : doors_(std::move(doors)), limits_(limits) {
  for (std::size_t door = 0; door < doors_.size(); ++door) {
    pending_.emplace_back(limits_.opening);
    for (const int listener : doors_[door].listeners) listeners_.emplace(listener, door);
  }
  try {
    open();
  } catch (...) {
    if (epoll_ >= 0) ::close(epoll_);
    if (wake_ >= 0) ::close(wake_);
    throw;
  }
}

void ConnectionGate::open() {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  bool watched = watch(epoll_, EPOLL_CTL_ADD, wake_, EPOLLIN);
  for (const auto& [listener, door] : listeners_)
    watched = watched && watch(epoll_, EPOLL_CTL_ADD, listener, EPOLLIN);
  if (!watched) throw std::system_error(errno, std::generic_category(), "accepting connections");
  thread_ = std::thread([this] { run(); });
}

ConnectionGate::~ConnectionGate() {
  stopping_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  thread_.join();
  for (const auto& [connection, _] : waiting_) ::close(connection);
  ::close(epoll_);
  ::close(wake_);
}

int ConnectionGate::wait_ms(Instant now) const {
  Instant until = rests_ ? rests_until_ : Instant::max();
  for (const auto& pending : pending_) until = std::min(until, pending.deadline());
  if (until == Instant::max()) return -1;
  const std::int64_t left_ns = std::max<std::int64_t>((until - now).to_ns(), 0);
  return static_cast<int>(std::min<std::int64_t>(left_ns / 1'000'000 + 1, 60'000));
}

void ConnectionGate::run() {
  std::array<epoll_event, 256> ready{};
  while (!stopping_) {
    const int got =
        ::epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), wait_ms(now()));
    const Instant turn = now();
    for (std::size_t i = 0; i < static_cast<std::size_t>(std::max(got, 0)); ++i) {
      const int descriptor = ready[i].data.fd;
      const auto listener = listeners_.find(descriptor);
      if (listener != listeners_.end())
        accept_some(descriptor, listener->second, turn);
      else if (descriptor != wake_)
        look_at(descriptor);
    }
    close_late(turn);
    if (rests_ && turn >= rests_until_) watch_listeners(true);
  }
}

// A listener that nothing is accepted of stays ready.
void ConnectionGate::watch_listeners(bool accepts) {
  rests_ = !accepts;
  rests_until_ = now() + kRest;
  for (const auto& [listener, door] : listeners_)
    watch(epoll_, EPOLL_CTL_MOD, listener, accepts ? EPOLLIN : 0u);
}

// Where no descriptor is left, the kernel says so also if no connection waits: only the first
// answer of a turn, for which the listener is ready, shows that one does.
void ConnectionGate::accept_some(int listener, std::size_t door, Instant now) {
  for (int i = 0; i < kMostInATurn; ++i) {
    const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection >= 0) {
      add(connection, listener, door, now);
    } else if (errno != ECONNABORTED) {
      if (i == 0 && lacks_descriptors(errno)) make_room(door);
      return;
    }
  }
}

void ConnectionGate::make_room(std::size_t door) {
  if (const auto oldest = pending_[door].oldest())
    drop(*oldest);
  else
    watch_listeners(false);
}

void ConnectionGate::add(int connection, int listener, std::size_t door, Instant now) {
  PendingConnections<int>& pending = pending_[door];
  if (pending.size() >= limits_.pending) drop(*pending.oldest());
  bool watched = false;
  try {
    pending.add(connection, now);
    waiting_.emplace(connection, Waiting{door, listener});
    // Edges: the bytes that are looked at stay where they are.
    watched = watch(epoll_, EPOLL_CTL_ADD, connection, EPOLLIN | EPOLLRDHUP | EPOLLET);
  } catch (const std::bad_alloc&) {
  }
  if (watched) return;
  pending.remove(connection);
  waiting_.erase(connection);
  ::close(connection);
}

void ConnectionGate::look_at(int connection) {
  const auto found = waiting_.find(connection);
  if (found == waiting_.end()) return;  // dropped in this turn
  const auto [door, listener] = found->second;
  std::array<std::byte, kMostOpeningBytes> first;
  const ssize_t got = ::recv(connection, first.data(), first.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop(connection);
  const auto bytes = std::span<const std::byte>(first).first(static_cast<std::size_t>(got));
  const Opening opening = judge_opening(doors_[door].protocol, bytes);
  if (opening == Opening::incomplete) return;
  if (opening == Opening::wrong) return drop(connection);
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, connection, nullptr);
  pending_[door].remove(connection);
  waiting_.erase(found);
  doors_[door].admit(listener, connection);
}

void ConnectionGate::close_late(Instant now) {
  for (const auto& pending : pending_)
    while (const auto late = pending.late(now)) drop(*late);
}

void ConnectionGate::drop(int connection) {
  const auto found = waiting_.find(connection);
  pending_[found->second.door].remove(connection);
  waiting_.erase(found);
  ::close(connection);
}

}  // namespace tributary::manager
